/*
 * What a compound target of four terms costs on a worker that holds the grains of a large fleet,
 * and what those take: `npx tsx --conditions=source libs/target/bench/fleet.ts [minions] [shared]`.
 * Each minion has 10 KB of grains, packed; `shared` is the share of bytes that other minions have
 * too (0.7 where it is left out; 0 is the worst case). All rounds are printed, and their median.
 */
import { checkMinions, type TargetView } from '@brine/target';
import { mapOf, pack, PackedMaps, type SaltMap, type SaltValue } from '@brine/wire';

const MINIONS = Number(process.argv[2] ?? 100_000);
const SHARED = Number(process.argv[3] ?? 0.7);
const ROUNDS = 9;

const COMPOUNDS = [
  'G@os:Debian and G@roles:web and P@kernelrelease:6\\.1.* and not E@web0[0-4].*',
  '( G@os:Debian or G@os:Rocky ) and S@10.0.0.0/9 and not G@roles:db',
  'web0* and G@systemd:version:25* and G@ip4_interfaces:eth0:10.1.* and G@roles:cache',
  'G@serialnumber:*7 or G@os_family:Suse or P@fqdn:.*99\\.example or S@10.1.2.0/24',
];

const idOf = (n: number): string => `web${String(n).padStart(6, '0')}.example`;

/** The length of the text that a grain of the filling has, and how many of those there are. */
const FILL = 60;
const FIELDS = 128;
const COMMON = Math.round(FIELDS * SHARED);

function fill(grains: SaltMap, from: number, to: number, text: string): void {
  for (let i = from; i < to; i += 1) {
    grains.set(`grain_${String(i).padStart(3, '0')}`, `${text} ${i}`.padEnd(FILL, '.'));
  }
}

const common: SaltMap = new Map();
fill(common, 0, COMMON, 'common');
const commonEntries = entriesOf(common);

/** The entries of a packed map, without its head of one byte, or of three from 16 entries. */
function entriesOf(map: SaltMap): Buffer {
  return pack(map).subarray(map.size < 16 ? 1 : 3);
}

function packedGrains(n: number): Buffer {
  const own = ownGrains(n);
  const count = own.size + COMMON;
  return Buffer.concat([Buffer.from([0xde, 0, count]), entriesOf(own), commonEntries]);
}

function ownGrains(n: number): SaltMap {
  const ip = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
  const eth0: SaltValue = mapOf({ eth0: [ip], lo: ['127.0.0.1'] });
  const grains = mapOf({
    id: idOf(n),
    fqdn: idOf(n),
    host: `web${n}`,
    serialnumber: `VMware-42 1c ${n}`,
    os: ['Debian', 'Rocky', 'Ubuntu'][n % 3],
    os_family: n % 3 === 1 ? 'RedHat' : 'Debian',
    osmajorrelease: n % 4,
    kernelrelease: `6.${n % 5}.0-${n % 40}-amd64`,
    num_cpus: n % 64,
    roles: n % 5 === 0 ? ['web', 'cache'] : n % 2 === 0 ? ['web'] : ['db'],
    ipv4: ['127.0.0.1', ip],
    ipv6: ['::1', `fe80::${n.toString(16)}`],
    ip4_interfaces: eth0,
    systemd: mapOf({ version: String(247 + (n % 9)), features: '+PAM +AUDIT -SELINUX' }),
  });
  fill(grains, COMMON, FIELDS, `own of ${n}`);
  return grains;
}

function memory(): { readonly heap: number; readonly rss: number } {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

/** One round, ms; on a busy machine the time of the CPU tells more. */
interface Round {
  readonly wall: number;
  readonly cpu: number;
}

function now(): Round {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now(), cpu: (user + system) / 1000 };
}

/** The median, and all rounds in their order. */
function shown(rounds: readonly Round[], key: keyof Round): string {
  const all = rounds.map((round) => round[key]);
  const median = all.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0;
  return `${median.toFixed(0)} (${all.map((ms) => ms.toFixed(0)).join(' ')})`;
}

const ids = Array.from({ length: MINIONS }, (_, n) => idOf(n));
const accepted = new Set(ids);
const before = memory();
const held = new PackedMaps();
let bytes = 0;
const filling = now().cpu;
for (const [n, id] of ids.entries()) {
  const packed = packedGrains(n);
  bytes += packed.length;
  held.set(id, packed);
}
const filled = ((now().cpu - filling) / MINIONS) * 1000;
const after = memory();
const each = (key: 'heap' | 'rss'): string =>
  ((after[key] - before[key]) / MINIONS / 1024).toFixed(2);
process.stdout.write(
  `${MINIONS} minions, ${(bytes / MINIONS).toFixed(0)} bytes of grains each, ` +
    `${SHARED * 100} % alike\n` +
    `held: heap ${each('heap')} KiB, resident ${each('rss')} KiB per minion; ` +
    `made and held in ${filled.toFixed(0)} µs of CPU each\n`,
);

const view: TargetView = {
  accepted,
  grains: (id) => held.get(id),
  pillar: () => undefined,
  nodegroups: {},
  cacheless: 'drop',
};
for (const tgt of COMPOUNDS) {
  const rounds: Round[] = [];
  let found = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = now();
    found = checkMinions({ tgt, tgtType: 'compound' }, view).minions.length;
    const end = now();
    rounds.push({ wall: end.wall - start.wall, cpu: end.cpu - start.cpu });
  }
  process.stdout.write(`${tgt}: ${found} minions\n`);
  process.stdout.write(`    ms ${shown(rounds, 'wall')}; of CPU ${shown(rounds, 'cpu')}\n`);
}
const opened = memory();
const more = (opened.heap - after.heap) / MINIONS / 1024;
process.stdout.write(`after these targets ${more.toFixed(2)} KiB more per minion\n`);
