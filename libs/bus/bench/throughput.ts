// How much one process does: node --conditions=source --import tsx libs/bus/bench/throughput.ts
// [seconds] The sender, the worker and the server share the machine; see README.md for figures.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { connectBus } from '../src/connection/connect.ts';
import { EventReader } from '../src/events/event-reader.ts';
import { EventWriter } from '../src/events/event-writer.ts';
import { RequestReceiver } from '../src/rpc/request-receiver.ts';
import { RequestSender } from '../src/rpc/request-sender.ts';
import { ensureStreams } from '../src/streams/ensure-streams.ts';

const seconds = Number(process.argv[2] ?? 3);
const body = Buffer.alloc(600, 'x');

const dir = await mkdtemp(join(tmpdir(), 'brine-bench-'));
const binary = await resolveNatsServer({ env: process.env });
const server = await startNatsServer({ binary, dir });
const owner = await connectBus({ url: server.urls['event-bus'], name: 'event-bus' });
await ensureStreams(owner);
const worker = await connectBus({ url: server.urls['worker-pool'], name: 'worker-pool' });
const gateway = await connectBus({ url: server.urls['req-gateway'], name: 'req-gateway' });

let n = 0;
const writer = new EventWriter(worker);
const event = () => ({ kind: 'ret', tag: 'salt/job/1/ret/m', body, msgId: `b${n++}` }) as const;
await measure('append, 1 in flight', 1, () => writer.append(event()));
await measure('append, 256 in flight', 256, () => writer.append(event()));

const appended = n;

const receiver = new RequestReceiver(worker, { workerId: 'bench', host: 'bench' });
receiver.serve(() => Promise.resolve({ kind: 'reply', body }));
const sender = new RequestSender(gateway, { host: 'bench' });
while (!sender.ready) await sleep(10);
const request = () =>
  sender.send({ id: `r${n++}`, class: 'aes', body, deadlineMs: Date.now() + 10_000 });
await measure('request, 1 in flight', 1, request);
await measure('request, 256 in flight', 256, request);

const reader = new EventReader(owner, { durable: 'bench' });
const started = performance.now();
const before = process.cpuUsage();
let read = 0;
for await (const batch of reader.batches(500)) {
  for (const one of batch) one.ack();
  read += batch.length;
  if (read >= appended) break;
}
report('read and ack', read, performance.now() - started, process.cpuUsage(before));
reader.close();
sender.close();
await Promise.all([owner.close(), worker.close(), gateway.close()]);
await server.stop();
await rm(dir, { recursive: true, force: true });

async function measure(name: string, lanes: number, act: () => Promise<unknown>): Promise<void> {
  const begun = performance.now();
  const cpu = process.cpuUsage();
  let count = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - begun < seconds * 1_000) {
      await act();
      count++;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  report(name, count, performance.now() - begun, process.cpuUsage(cpu));
}

function report(name: string, count: number, ms: number, cpu: NodeJS.CpuUsage): void {
  const rate = Math.round((count / ms) * 1_000);
  const each = ((cpu.user + cpu.system) / count).toFixed(1);
  process.stdout.write(`${name.padEnd(26)} ${rate}/s  ${each} us of this process each\n`);
}
