import { Bucket } from '@brine/bus';
import { type Answer, type IncomingRequest, RequestReceiver, RequestSender } from '@brine/bus/rpc';
import { RequestIds, serveRequestIds } from '@brine/master-state';
import { startNats, type TestNats, ZmtpPeer } from '@brine/testing';
import { Gate, until, workTakes } from '@brine/testing/waits';
import { isMap, mapOf, pack, textOf, unpack } from '@brine/wire';
import { aesEnvelope, clearEnvelope } from '@brine/wire/frames';
import { RequestServer } from '@brine/zmq';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { Gateway } from './gateway.ts';

let nats: TestNats;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  nats = await startNats();
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(() => nats.close());

interface Started {
  readonly gateway: Gateway;
  readonly port: number;
  readonly recordSpan: ReturnType<typeof vi.fn>;
  readonly sender: RequestSender;
  /** As kill -9 does: nothing is answered any more. */
  readonly kill: () => Promise<void>;
}

let count = 0;
/** Longer than a test may take. */
const NEVER_MS = 600_000;

async function startGateway(): Promise<Started> {
  const bus = await nats.connect('req-gateway');
  const sender = new RequestSender(bus, { host: 'h' });
  const server = await RequestServer.bind({
    endpoint: 'tcp://127.0.0.1:*',
    maxMessageBytes: 1 << 24,
  });
  const recordSpan = vi.fn();
  const incarnation = `test-${String(count++)}`;
  const gateway = new Gateway({
    peers: server,
    workers: sender,
    memory: new RequestIds(bus, incarnation),
    spans: { recordSpan },
    minimumAuthVersion: 3,
    incarnation,
  });
  const running = gateway.run();
  const kill = async (): Promise<void> => {
    await server.close();
    sender.close();
    await bus.close();
    await running;
  };
  cleanups.push(kill);
  return { gateway, port: Number(server.endpoint.split(':').at(-1)), recordSpan, sender, kill };
}

async function startWorker(
  handler: (request: IncomingRequest) => Answer | Promise<Answer>,
): Promise<RequestReceiver> {
  const bus = await nats.connect('worker-pool');
  const workerId = `w${String(count++)}`;
  const concurrency = { auth: 16, clear: 64, aes: 512 };
  const receiver = new RequestReceiver(bus, { workerId, host: 'h', concurrency });
  const ids = serveRequestIds(bus, new Bucket(bus, 'brine_requests'));
  receiver.serve(async (request) => handler(request));
  await bus.flush();
  cleanups.push(async () => {
    await Promise.all(ids.map((one) => one.close()));
    await bus.close();
  });
  return receiver;
}

async function readyGateway(): Promise<Started> {
  const started = await startGateway();
  await until('a worker is known', () => expect(started.sender.ready).toBe(true));
  return started;
}

async function peer(port: number): Promise<ZmtpPeer> {
  const made = await ZmtpPeer.open({ port });
  cleanups.push(() => made.close());
  return made;
}

const echo = (request: IncomingRequest): Answer => ({ kind: 'reply', body: request.body });
const sealed = (id: string, byte = 1): Buffer =>
  aesEnvelope({ load: Buffer.alloc(64, byte), version: 3, id });
const login = (id: string): Buffer => clearEnvelope(mapOf({ cmd: '_auth', id, nonce: 'n' }));
const publish = (fun: string): Buffer =>
  clearEnvelope(mapOf({ cmd: 'publish', tgt: '*', fun, jid: '' }));

test('requests of all classes reach a worker unchanged, and its replies the peers', async () => {
  const seen: string[] = [];
  await startWorker((request) => {
    seen.push(request.class);
    return echo(request);
  });
  const { port } = await readyGateway();
  const one = await peer(port);
  for (const body of [sealed('a'), login('a'), clearEnvelope(mapOf({ cmd: 'ping' }))]) {
    expect((await one.request(body, 3000)).equals(body)).toBe(true);
  }
  expect(seen).toEqual(['aes', 'auth', 'clear']);
});

test('garbage is answered at once, with no worker at all', async () => {
  const { port, gateway } = await startGateway();
  const one = await peer(port);
  expect(unpack(await one.request(Buffer.from([0xc1]), 5_000))).toEqual(
    mapOf({ error: 'Routing error' }),
  );
  expect(unpack(await one.request(Buffer.alloc(0), 5_000))).toEqual(
    mapOf({ error: 'Routing error' }),
  );
  expect(unpack(await one.request(Buffer.from([0x80]), 5_000))).toBe('bad load');
  expect(gateway.status.refused).toBe(3);
});

test('a publish that is byte-identical to one under way joins it', async () => {
  const ids: string[] = [];
  let answer: () => void = () => undefined;
  const joined = new Promise<void>((resolve) => (answer = resolve));
  await startWorker(async (request) => {
    ids.push(request.id);
    await joined;
    return { kind: 'reply', body: pack('once'), trace: '+20261120171037123456 1  ' };
  });
  const { port, gateway, recordSpan } = await readyGateway();
  const peers = await Promise.all([peer(port), peer(port), peer(port)]);
  const asked = peers.map((one) => one.request(publish('test.ping'), 3000));
  await until('two have joined the first', () => expect(gateway.status.publish.joined).toBe(2));
  answer();
  const replies = await Promise.all(asked);
  expect(replies.map((reply) => unpack(reply))).toEqual(['once', 'once', 'once']);
  expect(ids).toHaveLength(1);
  expect(recordSpan).toHaveBeenCalledWith(
    expect.objectContaining({
      part: 'gateway.publish',
      parentPart: 'request',
      jid: '20261120171037123456',
    }),
  );
});

test('the same publish sent again after kill -9 of the gateway keeps its request id', async () => {
  const ids: string[] = [];
  let answer = false;
  await startWorker(async (request) => {
    ids.push(request.id);
    if (!answer) await new Promise(() => undefined);
    return { kind: 'reply', body: pack('done') };
  });
  const first = await readyGateway();
  (await peer(first.port)).send([Buffer.alloc(0), publish('state.apply')]);
  await until('the worker has the request', () => expect(ids).toHaveLength(1));
  await first.kill();
  answer = true;
  const second = await readyGateway();
  const again = await (await peer(second.port)).request(publish('state.apply'), 3000);
  expect(unpack(again)).toBe('done');
  expect(ids[1]).toBe(ids[0]);
  expect(second.gateway.status.publish.resumed).toBe(1);
});

test('a publish is answered with a text when there is no worker', async () => {
  const { port, gateway } = await startGateway();
  const one = await peer(port);
  const reply = unpack(await one.request(publish('test.ping'), 15_000));
  expect(isMap(reply) && reply.get('error')).toContain('not ready');
  // The memory was away both when it came and when it was answered.
  await expect.poll(() => gateway.status.publish.unremembered).toBe(2);
});

test('a log-in waits, and is answered bad load only if there is no worker', async () => {
  const { port } = await startGateway();
  const one = await peer(port);
  const startMs = Date.now();
  expect(unpack(await one.request(login('a'), 15_000))).toBe('bad load');
  expect(Date.now() - startMs).toBeGreaterThan(3800);
});

test('a log-in that a busy worker does not get to is left unanswered', async () => {
  await startWorker(() => new Promise(() => undefined));
  const { port, gateway, kill } = await readyGateway();
  const one = await peer(port);
  const answer = one.request(login('a'), NEVER_MS).catch((error: Error) => error.message);
  await until('it is left', () => expect(gateway.status.auth.silent).toBe(1));
  // An answer would come before the end of the connection.
  await kill();
  expect(await answer).toBe('connection closed');
});

test('a return that a worker could not store is kept and delivered again under its id', async () => {
  const ids: string[] = [];
  await startWorker((request) => {
    ids.push(request.id);
    if (ids.length < 3) return { kind: 'drop' };
    return { kind: 'reply', body: pack('stored'), trace: '20261120171037123456 web.1' };
  });
  const { port, gateway, recordSpan } = await readyGateway();
  const one = await peer(port);
  expect(unpack(await one.request(sealed('web.1'), 5000))).toBe('stored');
  expect(new Set(ids).size).toBe(1);
  expect(ids).toHaveLength(3);
  expect(gateway.status.sealed).toMatchObject({ kept: 0, keptBytes: 0, redelivered: 1, lost: 0 });
  expect(recordSpan).toHaveBeenCalledWith(
    expect.objectContaining({
      part: 'gateway.return.web.1',
      parentPart: 'minion.web.1',
      jid: '20261120171037123456',
    }),
  );
});

test('a return that comes before any worker is delivered once there is one', async () => {
  const { port, gateway } = await startGateway();
  const one = await peer(port);
  const reply = one.request(sealed('a'), 8000);
  await until('the return is in flight', () => expect(gateway.status.inFlight).toBe(1));
  await startWorker(echo);
  expect((await reply).equals(sealed('a'))).toBe(true);
});

test('a storm of log-ins does not delay returns', async () => {
  let served = 0;
  await startWorker(async (request) => {
    if (request.class === 'auth') await workTakes(50).finally(() => served++);
    return echo(request);
  });
  const { port, gateway } = await readyGateway();
  const storm = await Promise.all(Array.from({ length: 50 }, () => peer(port)));
  for (let round = 0; round < 20; round++) {
    storm.forEach((one, index) => one.send([Buffer.alloc(0), login(`m${index}-${round}`)]));
  }
  await until('log-ins wait', () => expect(gateway.status.auth.waiting).toBeGreaterThan(100));
  const one = await peer(port);
  let fewest = Infinity; // Behind the line of log-ins, a hundred would be served first.
  for (let n = 0; n < 10; n++) {
    const before = served;
    await one.request(sealed('a', n), 5000);
    fewest = Math.min(fewest, served - before);
  }
  expect(fewest).toBeLessThan(50);
});

test('the log-in of a minion whose return was just refused goes before others', async () => {
  const order: string[] = [];
  await startWorker(async (request) => {
    if (request.class === 'aes') return { kind: 'reply', body: pack('bad load') };
    const envelope = unpack(request.body);
    const load = isMap(envelope) ? envelope.get('load') : undefined;
    if (isMap(load)) order.push(textOf(load, 'id') ?? '');
    await workTakes(20);
    return echo(request);
  });
  const { port, gateway } = await readyGateway();
  const waiting = await peer(port);
  await waiting.request(sealed('waits'), 2000);
  const storm = await Promise.all(Array.from({ length: 40 }, () => peer(port)));
  storm.forEach((one, index) => {
    for (let n = 0; n < 20; n++) {
      one.send([Buffer.alloc(0), login(`m${String(index)}-${String(n)}`)]);
    }
  });
  await until('log-ins wait', () => expect(gateway.status.auth.waiting).toBeGreaterThan(300));
  await waiting.request(login('waits'), 3000);
  expect(order.indexOf('waits')).toBeLessThan(400);
  expect(gateway.status.auth.urgent).toBe(1);
});

test('a draining gateway answers the requests in hand and takes no new ones', async () => {
  const gate = new Gate();
  await startWorker(async (request) => {
    await gate.opened;
    return echo(request);
  });
  const { port, gateway } = await readyGateway();
  const [early, late] = [await peer(port), await peer(port)];
  const answered = early.request(sealed('a'), NEVER_MS);
  await until('the request is in flight', () => expect(gateway.status.inFlight).toBe(1));
  const drained = gateway.drain();
  await expect(late.request(sealed('b'), 500)).rejects.toThrow('nothing received');
  gate.open();
  expect((await answered).equals(sealed('a'))).toBe(true);
  await drained;
});
