import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startNats, type TestNats } from '@brine/testing';
import { Gate, until, workTakes } from '@brine/testing/waits';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import type { RequestToSend } from './pending-request.ts';
import { type IncomingRequest, type RequestHandler, RequestReceiver } from './request-receiver.ts';
import { RequestSender } from './request-sender.ts';

let nats: TestNats;
let gateway: Bus;
let sender: RequestSender;
const opened: { close: () => Promise<void> }[] = [];

beforeAll(async () => {
  nats = await startNats();
}, 600_000);

afterAll(() => nats.close());

beforeEach(async () => {
  gateway = await nats.connect('req-gateway');
  sender = new RequestSender(gateway, { host: 'gw.example' });
});

afterEach(async () => {
  sender.close();
  await gateway.close();
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

let ids = 0;

function request(more: Partial<RequestToSend> = {}): RequestToSend {
  const deadlineMs = Date.now() + 10_000;
  return { id: `r${ids++}`, class: 'aes', body: Buffer.from('hello'), deadlineMs, ...more };
}

const textOf = (body: Uint8Array): string => Buffer.from(body).toString();

async function startWorker(
  workerId: string,
  handler: RequestHandler,
  options: Partial<ConstructorParameters<typeof RequestReceiver>[1]> = {},
): Promise<{ receiver: RequestReceiver; bus: Bus }> {
  const bus = await nats.connect('worker-pool');
  const receiver = new RequestReceiver(bus, { workerId, host: 'wk.example', ...options });
  receiver.serve(handler);
  opened.push({ close: () => bus.close() });
  await bus.flush();
  return { receiver, bus };
}

const answerWith =
  (name: string, work: () => Promise<void> = () => Promise.resolve()): RequestHandler =>
  async () => {
    await work();
    return { kind: 'reply', body: Buffer.from(name) };
  };

const never = (): Promise<never> => new Promise(() => undefined);

async function readySender(): Promise<void> {
  await until('the sender knows a worker', () => sender.ready);
}

async function startProcess(workerId: string, delayMs = 0): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('../../test/worker-process.ts', import.meta.url));
  const args = [
    '--conditions=source',
    '--import',
    'tsx',
    script,
    nats.urls['worker-pool'],
    workerId,
  ];
  const child = spawn(process.execPath, [...args, String(delayMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  opened.push({
    close: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  });
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => chunk.includes('ready') && resolve());
  });
  return child;
}

test('once its last worker has left, a sender expects the next one, but none without NATS', async () => {
  const { receiver } = await startWorker('leaves', answerWith('leaves'));
  await readySender();
  await receiver.drain();
  await until('the sender knows that it left', () => !sender.ready);
  expect(sender.expected).toBe(true);
  await gateway.close();
  expect(sender.expected).toBe(false);
});

test('a request reaches a worker with all that belongs to it, and is answered', async () => {
  let seen: IncomingRequest | undefined;
  await startWorker('all', async (incoming) => {
    seen = incoming;
    return { kind: 'reply', body: Buffer.from([1, 0, 255]), trace: '2026' };
  });
  const sent = request({ class: 'clear', peer: '10.0.0.1:7' });
  const outcome = await sender.send(sent);
  expect(outcome).toEqual({ kind: 'reply', body: Buffer.from([1, 0, 255]), trace: '2026' });
  expect(seen).toMatchObject({
    id: sent.id,
    class: 'clear',
    peer: '10.0.0.1:7',
    gatewayHost: 'gw.example',
    // Of the wall clock, made from the time that is left: rounded.
    deadlineMs: expect.closeTo(sent.deadlineMs, -3),
  });
  expect(textOf(seen?.body ?? Buffer.alloc(0))).toBe('hello');
});

test('bodies of 20 MB go both ways', async () => {
  await startWorker('large', async ({ body }) => ({
    kind: 'reply',
    body: Buffer.from(body).reverse(),
  }));
  const body = Buffer.alloc(20_000_000, 'abcdefg');
  const outcome = await sender.send(request({ body }));
  expect(outcome.kind).toBe('reply');
  if (outcome.kind === 'reply') expect(Buffer.compare(outcome.body, body.reverse())).toBe(0);
});

test('a worker that wants no answer gets none sent', async () => {
  await startWorker('drop', () => Promise.resolve({ kind: 'drop' }));
  expect(await sender.send(request())).toEqual({ kind: 'drop' });
});

test('what a worker refuses it gets again once it says that it has room', async () => {
  let tries = 0;
  await startWorker('refuses', async () => {
    tries += 1;
    return tries < 3 ? { kind: 'refuse' } : { kind: 'reply', body: Buffer.from('at last') };
  });
  const outcome = await sender.send(request({ class: 'clear', deadlineMs: Date.now() + 30_000 }));
  expect(outcome).toEqual({ kind: 'reply', body: Buffer.from('at last') });
  expect(tries).toBe(3);
});

test('an error of a handler is reported, and its request dropped', async () => {
  const errors: string[] = [];
  const onError = (error: Error): void => void errors.push(error.message);
  await startWorker('throws', () => Promise.reject(new Error('a mistake')), { onError });
  expect(await sender.send(request())).toEqual({ kind: 'drop' });
  expect(errors).toEqual(['a mistake']);
});

test('the request of a killed worker is tried on another under the same id', async () => {
  const seen: string[] = [];
  const dead = await startWorker('dead', (incoming) => {
    seen.push(incoming.id);
    return never();
  });
  await readySender();
  const sent = request();
  const outcome = sender.send(sent);
  await until('the worker has the request', () => seen.length === 1);
  await dead.bus.connection.close();
  await startWorker('alive', async (incoming) => {
    seen.push(incoming.id);
    return { kind: 'reply', body: Buffer.from('alive') };
  });
  expect(await outcome).toMatchObject({ kind: 'reply', body: Buffer.from('alive') });
  expect(seen).toEqual([sent.id, sent.id]);
  expect(sender.stats().retries).toBe(1);
});

test('the request of a slow worker that renews its claim is not tried on another', async () => {
  let hasBegun = false;
  const work = (): Promise<void> => {
    hasBegun = true;
    return workTakes(4_000);
  };
  await startWorker('slow', answerWith('slow', work));
  await readySender();
  const outcome = sender.send(request());
  await until('the slow one has begun', () => hasBegun);
  await startWorker('idle', answerWith('idle'));
  expect(await outcome).toMatchObject({ body: Buffer.from('slow') });
  expect(sender.stats().retries).toBe(0);
});

test('a stopped worker gets no new requests, and its old ones are tried elsewhere', async () => {
  const stopped = await startProcess('stopped', 60_000);
  await readySender();
  const first = sender.send(request());
  await new Promise((resolve) => stopped.stdout?.once('data', resolve));
  stopped.kill('SIGSTOP');
  await startWorker('running', answerWith('running'));
  expect(await first).toMatchObject({ body: Buffer.from('running') });
  const later = await Promise.all(Array.from({ length: 50 }, () => sender.send(request())));
  for (const outcome of later) expect(outcome).toMatchObject({ body: Buffer.from('running') });
  expect(sender.stats()).toMatchObject({ workers: 1, retries: 1 });
});

test('without a worker a request waits, and is sent when one comes', async () => {
  const outcome = sender.send(request());
  expect(sender.ready).toBe(false);
  await gateway.flush();
  expect(sender.stats().classes.aes).toMatchObject({ waiting: 1, inFlight: 0 });
  await startWorker('late', answerWith('late'));
  expect(await outcome).toMatchObject({ body: Buffer.from('late') });
  expect(sender.stats().classes.aes).toEqual({ waiting: 0, inFlight: 0, bytes: 0 });
});

test('without a worker until its deadline a request expires', async () => {
  const started = Date.now();
  const outcome = await sender.send(request({ deadlineMs: started + 300 }));
  expect(outcome).toEqual({ kind: 'expired', why: 'deadline', handed: false });
  expect(Date.now() - started).toBeGreaterThanOrEqual(295);
  expect(await sender.send(request({ deadlineMs: started }))).toMatchObject({ kind: 'expired' });
});

test('too many requests are refused at once, and those in hand expire at close', async () => {
  const limits = { auth: { count: 1, bytes: 100, patienceMs: Infinity } };
  const limited = new RequestSender(gateway, { host: 'gw', limits });
  const held = limited.send(request({ class: 'auth' }));
  const refused = await limited.send(request({ class: 'auth' }));
  expect(refused).toEqual({ kind: 'expired', why: 'limit', handed: false });
  limited.close();
  expect(await held).toEqual({ kind: 'expired', why: 'closed', handed: false });
});

test('log-ins that are stuck do not hold up the other classes', async () => {
  let held = 0;
  await startWorker('busy', (incoming) => {
    if (incoming.class !== 'auth') return answerWith('busy')(incoming);
    held += 1;
    return never();
  });
  const stuck = Array.from({ length: 200 }, () => sender.send(request({ class: 'auth' })));
  await until('log-ins are stuck at the worker', () => held > 0);
  expect(await sender.send(request())).toMatchObject({ body: Buffer.from('busy') });
  sender.close();
  await Promise.all(stuck);
});

test('no more of a class run at once than there are places, and all are answered', async () => {
  let running = 0;
  let most = 0;
  const handler: RequestHandler = async () => {
    most = Math.max(most, ++running);
    await workTakes(5);
    running--;
    return { kind: 'reply', body: Buffer.from('x') };
  };
  await startWorker('narrow', handler, { concurrency: { clear: 3 }, queue: { clear: 4 } });
  const outcomes = Array.from({ length: 60 }, () => sender.send(request({ class: 'clear' })));
  for (const outcome of await Promise.all(outcomes)) expect(outcome.kind).toBe('reply');
  expect(most).toBe(3);
});

test('what a worker refused takes up no room of it once it has some', async () => {
  const gate = new Gate();
  const handler: RequestHandler = async () => {
    await gate.opened;
    return { kind: 'reply', body: Buffer.from('at last') };
  };
  await startWorker('full', handler, { concurrency: { aes: 4 }, queue: { aes: 0 } });
  const other = new RequestSender(gateway, { host: 'other.example' });
  await until('both know the worker', () => sender.ready && other.ready);
  const send = (from: RequestSender) => Array.from({ length: 4 }, () => from.send(request()));
  const taken = send(other);
  // The worker has announced that it has room, and has none by now.
  const refused = send(sender);
  await until('they wait', () => sender.stats().classes.aes.waiting === refused.length);
  gate.open();
  for (const outcome of await Promise.all([...taken, ...refused])) {
    expect(outcome).toMatchObject({ kind: 'reply', body: Buffer.from('at last') });
  }
  other.close();
});

test('a draining worker finishes what it has and gets nothing more', async () => {
  const gate = new Gate();
  const leaving = await startWorker(
    'leaving',
    answerWith('leaving', () => gate.opened),
  );
  await readySender();
  const first = sender.send(request());
  await until('the leaving one has it in hand', () => leaving.receiver.stats().hand.aes === 1);
  const drained = leaving.receiver.drain();
  await startWorker('staying', answerWith('staying'));
  const later = await Promise.all(Array.from({ length: 20 }, () => sender.send(request())));
  for (const outcome of later) expect(outcome).toMatchObject({ body: Buffer.from('staying') });
  gate.open();
  expect(await first).toMatchObject({ body: Buffer.from('leaving') });
  await drained;
  expect(sender.stats().retries).toBe(0);
});

test('a request that was granted to one worker is not tried on another when it dies', async () => {
  let dead = false;
  const dying = await startWorker('dying', async (incoming) => {
    expect(await incoming.takeOnce()).toBe(true);
    await dying.bus.connection.close();
    dead = true;
    return never();
  });
  await readySender();
  const outcome = sender.send(request({ class: 'clear' }));
  await until('the worker is dead', () => dead);
  await startWorker('spare', answerWith('spare'));
  expect(await outcome).toEqual({ kind: 'expired', why: 'lapsed', handed: true });
});

test('requests are spread over the workers', async () => {
  const counts = new Map<string, number>();
  for (const name of ['a', 'b', 'c']) {
    await startWorker(`spread-${name}`, async () => {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      await workTakes(2);
      return { kind: 'reply', body: Buffer.from(name) };
    });
  }
  await until('the sender knows all three', () => sender.stats().workers === 3);
  // So many that a fair draw stays above it: what comes together is drawn for in groups of 32.
  await Promise.all(Array.from({ length: 2_400 }, () => sender.send(request())));
  for (const count of counts.values()) expect(count).toBeGreaterThan(480);
});

test('requests under way survive a reconnect of the gateway', async () => {
  const gate = new Gate();
  const work = (): Promise<void> => gate.opened;
  const steady = await startWorker('steady', answerWith('steady', work));
  await readySender();
  const outcomes = Array.from({ length: 20 }, () => sender.send(request()));
  await until('all are in hand', () => steady.receiver.stats().hand.aes === outcomes.length);
  await gateway.connection.reconnect();
  gate.open();
  for (const outcome of await Promise.all(outcomes)) {
    expect(outcome).toMatchObject({ body: Buffer.from('steady') });
  }
});
