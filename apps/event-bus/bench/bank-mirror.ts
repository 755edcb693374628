// What the files of minion data cost: node --conditions=source --import tsx
// apps/event-bus/bench/bank-mirror.ts [minions] [bytes of grains]. NATS shares the machine.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Bucket, connectBus, ensureStreams, escapeKey } from '@brine/bus';
import { BankFiles, type BankLayout } from '@brine/cachedir';
import { SecretBox } from '@brine/crypt';
import { BucketPillars, openStoredBanks } from '@brine/master-state';
import { resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { loadOrCreateMasterKeys } from '@brine/pki';
import { mapOf, pack } from '@brine/wire';
import { BankMirror, followOn } from '../src/adapters/bank-mirror.ts';

const minions = Number(process.argv[2] ?? 10_000);
const bytes = Number(process.argv[3] ?? 4_000);
/** Writes in flight at once. */
const LANES = 64;

const dir = await mkdtemp(join(tmpdir(), 'brine-banks-'));
const binary = await resolveNatsServer({ env: process.env });
const server = await startNatsServer({ binary, dir: join(dir, 'nats') });
const owner = await connectBus({ url: server.urls['event-bus'], name: 'event-bus' });
await ensureStreams(owner);
const worker = await connectBus({ url: server.urls['worker-pool'], name: 'worker-pool' });
const { privateKey } = await loadOrCreateMasterKeys(join(dir, 'pki'));
const grains = new Bucket(worker, 'brine_minions');
const box = SecretBox.fromMasterKey(privateKey, 'pillar');
const pillars = new BucketPillars(new Bucket(worker, 'brine_pillars'), box);
const data = mapOf({ os: 'Debian', pad: 'x'.repeat(bytes) });
const record = pack(mapOf({ grains: data, updated_at: 0 }));

await eachMinion(async (id) => {
  await grains.put(escapeKey(id), record);
  await pillars.keep(id, null, data, true);
});

for (const layout of ['3008', '3006'] as const) {
  const mirror = mirrorOf(layout);
  await measure(`${layout}: first copy of ${minions} minions`, 2 * minions, async () => {
    mirror.start();
    await untilEven(mirror);
  });
  const some = Math.ceil(minions / 100);
  await measure(`${layout}: ${some} minions send grains again`, some, async () => {
    for (let n = 0; n < some; n += 1) await grains.put(escapeKey(idOf(n)), record);
    await untilEven(mirror);
  });
  await measure(`${layout}: a second of rest`, 1, () => sleep(1_000));
  await mirror.close();
}
await Promise.all([owner.close(), worker.close()]);
await server.stop();
await rm(dir, { recursive: true, force: true });

function mirrorOf(layout: BankLayout): BankMirror {
  return new BankMirror({
    files: new BankFiles({ cachedir: join(dir, 'cache'), layout }),
    banks: openStoredBanks(owner, privateKey),
    wanted: ['grains', 'pillar', 'mine'],
    hasKey: () => true,
    knowsKeys: () => true,
    journal: join(dir, `journal-${layout}`),
    follow: followOn(owner),
    onTrouble: (text, error) => process.stderr.write(`${text}: ${String(error)}\n`),
  });
}

function idOf(n: number): string {
  return `minion-${n}.example.com`;
}

async function eachMinion(act: (id: string) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < minions) await act(idOf(next++));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

async function untilEven(mirror: BankMirror): Promise<void> {
  // What was just written has to reach it first.
  await sleep(200);
  while (!mirror.isEven) await sleep(50);
}

async function measure(name: string, count: number, act: () => Promise<unknown>): Promise<void> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  let rss = 0;
  const watching = setInterval(() => (rss = Math.max(rss, process.memoryUsage().rss)), 100);
  await act();
  clearInterval(watching);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const each = ((user + system) / count).toFixed(0);
  const mib = Math.round(rss / 1_048_576);
  process.stdout.write(`${name}: ${seconds} s, ${each} us of this process each, ${mib} MiB\n`);
}
