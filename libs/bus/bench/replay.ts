// Measures how soon and how fast events are replayed: node --conditions=source --import tsx
// libs/bus/bench/replay.ts [events]. NATS shares the machine.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isJid, jobReturnTag } from '@brine/job';
import { resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { connectBus } from '../src/connection/connect.ts';
import { EventWriter } from '../src/events/event-writer.ts';
import { ensureStreams } from '../src/streams/ensure-streams.ts';
import { Timeline, type TimelineOptions } from '../src/timeline/timeline.ts';

const events = Number(process.argv[2] ?? 1_000_000);
/** Returns that are written at once. */
const AT_ONCE = 2_000;
const body = Buffer.alloc(600, 'x');

const dir = await mkdtemp(join(tmpdir(), 'brine-replay-'));
const binary = await resolveNatsServer({ env: process.env });
const server = await startNatsServer({ binary, dir });
const owner = await connectBus({ url: server.urls['event-bus'], name: 'event-bus' });
await ensureStreams(owner);
const bus = await connectBus({ url: server.urls['worker-pool'], name: 'worker-pool' });

const writer = new EventWriter(bus);
const times: number[] = [];
for (let n = 0; n < events; n += AT_ONCE) {
  times.push(Date.now());
  const jid = `20261126${String(n).padStart(12, '0')}`;
  if (!isJid(jid)) throw new Error(jid);
  const returns = Array.from({ length: AT_ONCE }, (_, id) => {
    const minion = `m${id}.example.com`;
    return writer.append({ kind: 'ret', tag: jobReturnTag(jid, minion), jid, minion, body });
  });
  await Promise.all(returns);
}
await writer.append({ kind: 'local', tag: 'site/last', body });
process.stdout.write(`${events} events are stored\n`);

for (const part of [0, 0.5, 0.99]) {
  const timeMs = times[Math.floor(times.length * part)] ?? 0;
  await first(`first event from ${part * 100} % of the way`, { from: { timeMs } });
}
await first('first event of a rare kind', { from: 'oldest', kinds: ['local'], jobs: false });
await first('first event of a rare tag among all', {
  from: 'oldest',
  fits: ({ tag }) => tag === 'site/last',
});
await all();
await Promise.all([owner.close(), bus.close()]);
await server.stop();
await rm(dir, { recursive: true, force: true });

async function first(name: string, options: TimelineOptions): Promise<void> {
  const startedAt = performance.now();
  const timeline = await Timeline.open(bus, options);
  const [event] = await timeline.take(1, 60_000);
  const ms = (performance.now() - startedAt).toFixed(1);
  process.stdout.write(`${name}: ${event === undefined ? 'none after' : ''} ${ms} ms\n`);
  timeline.close();
}

async function all(): Promise<void> {
  const timeline = await Timeline.open(bus, { from: 'oldest' });
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  let count = 0;
  for (let some = 1; some > 0; count += some) {
    some = (await timeline.take(1_000, 10_000, true)).length;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const each = ((user + system) / count).toFixed(1);
  const rate = Math.round(count / seconds);
  process.stdout.write(`all ${count}: ${rate}/s, ${each} us of this process each\n`);
  timeline.close();
}
