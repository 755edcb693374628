// Fills an index with a fleet, and measures pages and facets of it:
//   node --expose-gc --import tsx --conditions=source libs/fleet/bench/fleet.ts [minions]
import { performance } from 'node:perf_hooks';
import { FleetIndex } from '../src/fleet-index.ts';
import { type FleetOrder, type FleetPlace, type FleetQuery, pageOf } from '../src/page.ts';
import { RowSight } from '../src/row-sight.ts';

const COUNT = Number(process.argv[2] ?? 100_000);
const RUNS = 200;
const GRAINS = ['os', 'osrelease', 'kernel', 'saltversion'];
const OS = ['Debian', 'Ubuntu', 'CentOS Stream', 'Windows'];
const RELEASES = ['3006.5', '3006.30', '3007.1', '3008.2', '3008.5'];

/** A text as it is read from bytes. */
const own = (text: string): string => Buffer.from(text).toString('latin1');

const used = (): number => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const before = used();
const index = new FleetIndex(GRAINS);
const begun = performance.now();
for (let at = 0; at < COUNT; at += 1) {
  // As the buckets give them: in no order of their ids, each text of its own bytes.
  const id = own(`web-${(at * 7_919) % COUNT}.rack${at % 400}.example.com`);
  index.setKey(id, { state: at % 50 === 0 ? 'pending' : 'accepted', hasDenied: at % 1_000 === 0 });
  const grains = [OS[at % 4] ?? '', String(at % 12), 'Linux', RELEASES[at % 5] ?? ''];
  index.setGrains(id, grains, 1_764_000_000 + at);
  index.setPresence(id, { present: at % 30 !== 0, since: 1_764_000_000 + (at % 9_000) });
  index.seen(id, 'return', 1_764_500_000 + (at % 7_000));
  const jid = `202611301200${String(at % 60).padStart(8, '0')}`;
  index.stateRun(id, { jid, at: 1_764_400_000, hasFailed: at % 90 === 0 });
  index.testRun(id, { jid, at: 1_764_300_000 + at, hasFailed: false, would: at % 5 });
}
const filledMs = performance.now() - begun;
pageOf(index, new RowSight(index, undefined), { limit: 1 });
const bytes = (used() - before) / COUNT;

const narrow = new RowSight(index, {
  seesKeys: false,
  seesMinion: (id) => id.includes('rack1'),
  seesGrains: (id) => id.includes('rack12'),
  seesRuns: () => false,
});
const judged = performance.now();
await narrow.prepare();
const judgedMs = performance.now() - judged;
const whole = new RowSight(index, undefined);

const filters: readonly Partial<FleetQuery>[] = [
  {},
  { id: '42' },
  { id: 'web-?4*.rack*.example.com' },
  { keys: ['accepted'], present: false },
  { grains: [{ name: 'os', texts: ['Debian', 'Windows'] }], present: true },
  { silentSince: 1_764_503_000 },
  { drifts: ['failed', 'would'] },
];
const orders: readonly FleetOrder[] = [
  'id',
  'seen',
  'present',
  'stateRun',
  { grain: 'saltversion' },
];

interface Times {
  readonly wall: number[];
  readonly cpu: number[];
}

function record({ wall, cpu }: Times, run: () => void): void {
  const before = process.cpuUsage();
  const start = performance.now();
  run();
  wall.push(performance.now() - start);
  const { user, system } = process.cpuUsage(before);
  cpu.push((user + system) / 1_000);
}

const pages: Times = { wall: [], cpu: [] };
const facets: Times = { wall: [], cpu: [] };
const windows: Times = { wall: [], cpu: [] };
for (let run = 0; run < RUNS; run += 1) {
  const filter = filters[run % filters.length] ?? {};
  const order = orders[run % orders.length] ?? 'id';
  const sight = run % 3 === 0 ? narrow : whole;
  const query = { ...filter, order, isDown: run % 2 === 0, limit: 50 };
  // What changes in between is ordered again.
  index.setKey(`new-${run}`, { state: 'pending', hasDenied: false });
  let next: FleetPlace | undefined;
  for (let page = 0; page < 5; page += 1) {
    record(pages, () => ({ next } = pageOf(index, sight, { ...query, after: next })));
    if (next === undefined) break;
  }
  const deep = { value: order === 'id' ? 0 : 1_764_502_000, id: 'web-5' };
  const after = typeof order === 'object' ? { ...deep, value: '3007.1' } : deep;
  record(pages, () => pageOf(index, sight, { ...query, after }));
  record(windows, () => pageOf(index, sight, { ...query, first: COUNT - 500 }));
  record(facets, () => pageOf(index, sight, { ...query, withFacets: true }));
}

function show(name: string, { wall, cpu }: Times): void {
  const of = (times: number[]): string => {
    times.sort((a, b) => a - b);
    const at = (part: number): string => (times[Math.floor(times.length * part)] ?? 0).toFixed(1);
    return `p50 ${at(0.5)}, p99 ${at(0.99)} ms`;
  };
  console.log(`${name}, ${wall.length} times: ${of(wall)}; CPU ${of(cpu)}`);
}

console.log(`${COUNT} minions: ${bytes.toFixed(0)} B each, filled in ${filledMs.toFixed(0)} ms`);
show('a page of 50', pages);
show('a window at the end', windows);
show('a page with facets', facets);
console.log(`judged for a narrow reader in ${judgedMs.toFixed(0)} ms`);
