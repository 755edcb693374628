import { Bucket } from '@brine/bus';
import { RequestReceiver, RequestSender } from '@brine/bus/rpc';
import { RequestIds, serveRequestIds } from '@brine/master-state';
import {
  mutated,
  randomFrom,
  seedFrames,
  startNats,
  type TestNats,
  ZmtpPeer,
} from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { loadPauses, until } from '@brine/testing/waits';
import { mapOf, pack, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { RequestServer } from '@brine/zmq';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Gateway } from './gateway.ts';

/** How many mutated frames; a night's run sets a million. */
const FRAMES_MAX = 1_000_000;
const USUAL = sized({ change: 3_000, release: 10_000, nightly: FRAMES_MAX });
const FRAMES = Math.min(Number(process.env['BRINE_FUZZ_FRAMES'] ?? USUAL), FRAMES_MAX);
const SEED = Number(process.env['BRINE_FUZZ_SEED'] ?? 1);
const PEERS = 32;
const MEMORY_GROWTH_MAX = 100 * 1_048_576;

let nats: TestNats;
let server: RequestServer;
let sender: RequestSender;
let gateway: Gateway;
let port: number;
const seen = { auth: 0, clear: 0, aes: 0 };

beforeAll(async () => {
  nats = await startNats();
  const worker = await nats.connect('worker-pool');
  serveRequestIds(worker, new Bucket(worker, 'brine_requests'));
  const receiver = new RequestReceiver(worker, { workerId: 'w', host: 'h' });
  receiver.serve((request) => {
    seen[request.class] += 1;
    return Promise.resolve({ kind: 'reply', body: pack('bad load') });
  });
  const bus = await nats.connect('req-gateway');
  sender = new RequestSender(bus, { host: 'h' });
  server = await RequestServer.bind({ endpoint: 'tcp://127.0.0.1:*', maxMessageBytes: 1 << 20 });
  gateway = new Gateway({
    peers: server,
    workers: sender,
    memory: new RequestIds(bus, 'f'),
    spans: { recordSpan: () => undefined },
    minimumAuthVersion: 0,
  });
  void gateway.run();
  port = Number(server.endpoint.split(':').at(-1));
  await until('a worker is known', () => expect(sender.ready).toBe(true));
});

afterAll(async () => {
  await server.close();
  sender.close();
  await nats.close();
});

test('mutated frames are answered or end their connection, and a good client is served on', async () => {
  const seeds = seedFrames();
  const random = randomFrom(SEED);
  const outcome = { answered: 0, closed: 0 };
  let left = FRAMES;
  let before = 0;
  let good = 0;
  let running = true;

  const hostile = async (): Promise<void> => {
    let peer = await ZmtpPeer.open({ port });
    while (left > 0) {
      left -= 1;
      // From here on nothing may grow: buffers and code have found their size.
      if (left === Math.floor(FRAMES / 2)) before = process.memoryUsage().rss;
      const { bytes, whole } = mutated(seeds, random);
      try {
        if (whole) {
          await peer.request(bytes, 8_000);
        } else {
          peer.raw(bytes);
          // After broken framing the other side may wait for the rest of a frame: whatever came of
          // it, this connection is of no use any more.
          await peer.receive(20).catch(() => undefined);
          peer.close();
        }
        outcome.answered += 1;
      } catch (error) {
        if (!peer.closed) throw unanswered(bytes, error);
        outcome.closed += 1;
      }
      if (peer.closed) peer = await ZmtpPeer.open({ port });
    }
    peer.close();
  };
  const goodClient = async (): Promise<void> => {
    const peer = await ZmtpPeer.open({ port });
    const ping = clearEnvelope(mapOf({ cmd: 'ping' }));
    while (running) {
      expect(unpack(await peer.request(ping, 2_000))).toBe('bad load');
      good += 1;
      await loadPauses(5);
    }
    peer.close();
  };

  await Promise.all(Array.from({ length: PEERS }, () => warmUp(seeds, random)));
  const served = goodClient();
  await Promise.all(Array.from({ length: PEERS }, () => hostile()));
  running = false;
  await served;
  expect(outcome.answered + outcome.closed).toBeGreaterThanOrEqual(FRAMES);
  expect(good).toBeGreaterThan(10);
  expect(seen.aes).toBeGreaterThan(0);
  expect(seen.auth).toBeGreaterThan(0);
  expect(gateway.status.refused).toBeGreaterThan(0);
  await until('no request is in flight', () => expect(gateway.status.inFlight).toBe(0));
  const grown = process.memoryUsage().rss - before;
  expect(grown, `grew by ${String(Math.round(grown / 1_048_576))} MiB`).toBeLessThan(
    MEMORY_GROWTH_MAX,
  );
}, 3_600_000);

function unanswered(frame: Buffer, cause: unknown): Error {
  const status = JSON.stringify(gateway.status);
  return new Error(`no answer to ${frame.toString('base64')}; ${status}`, { cause });
}

/** Some rounds that are not measured: buffers and code find their size. */
async function warmUp(seeds: readonly Buffer[], random: () => number): Promise<void> {
  const peer = await ZmtpPeer.open({ port });
  for (let n = 0; n < 20; n++) {
    const frame = seeds[Math.floor(random() * seeds.length)] ?? Buffer.alloc(0);
    await peer.request(frame, 8_000).catch((error: unknown) => {
      throw unanswered(frame, error);
    });
  }
  peer.close();
}
