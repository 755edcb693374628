import { Bucket, type Bus } from '@brine/bus';
import { RequestSender } from '@brine/bus/rpc';
import { startNats, type TestNats } from '@brine/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RequestIds, serveRequestIds } from './request-ids.ts';

let nats: TestNats;
let gateway: Bus;
const HASH = 'ab'.repeat(32);

beforeEach(async () => {
  nats = await startNats();
  gateway = await nats.connect('req-gateway');
});

afterEach(async () => {
  vi.useRealTimers();
  await nats.close();
});

interface Asked {
  readonly hash: string;
  readonly id: string;
  readonly gateway: string;
  readonly early?: boolean;
  readonly named?: boolean;
  readonly waitedMs?: number;
}

function claim(asked: Asked): Promise<string> {
  const { hash, id, gateway: name, early = false, named = false, waitedMs = 0 } = asked;
  return new RequestIds(gateway, name, 10_000).claim(hash, id, { early, named, waitedMs });
}

function answered({ hash, id, gateway: name }: Asked, keptMs = 0): Promise<void> {
  return new RequestIds(gateway, name, 10_000).answered(hash, id, keptMs);
}

function heard({ hash, id, gateway: name }: Asked): Promise<void> {
  return new RequestIds(gateway, name, 10_000).delivered(hash, id);
}

async function serve(): Promise<void> {
  const worker = await nats.connect('worker-pool');
  serveRequestIds(worker, new Bucket(worker, 'brine_requests'));
  await worker.flush();
}

test('the same bytes at the next gateway process keep the id of the unanswered request', async () => {
  await serve();
  const first = { hash: HASH, id: 'r1', gateway: 'g1' };
  const second = { hash: HASH, id: 'r2', gateway: 'g2' };
  expect(await claim(first)).toBe('r1');
  expect(await claim(second)).toBe('r1');
});

/** A gateway that lives, as workers see it. */
async function living(): Promise<string> {
  const { id } = new RequestSender(gateway, { host: 'h' });
  await gateway.flush();
  return id;
}

test('once answered, the same bytes at another gateway are a new request', async () => {
  await serve();
  const first = { hash: HASH, id: 'r1', gateway: await living() };
  await claim(first);
  await answered(first);
  const second = { hash: HASH, id: 'r2', gateway: 'g2' };
  expect(await claim(second)).toBe('r2');
  // A late word about the first does not close the second.
  await answered(first);
  expect(await claim({ ...second, id: 'r3', gateway: 'g3' })).toBe('r2');
});

test('an answer may have died with its gateway: the same bytes are that request once more', async () => {
  await serve();
  const gone = { hash: HASH, id: 'r1', gateway: 'g1' };
  await claim(gone);
  await answered(gone);
  const next = { hash: HASH, gateway: await living() };
  expect(await claim({ ...next, id: 'r2' })).toBe('r1');
  await answered({ ...next, id: 'r1' });
  // Answered by one that lives.
  expect(await claim({ ...next, id: 'r3' })).toBe('r3');
});

test('a slow answer is that of the next try at another gateway, while the first one leaves', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  await serve();
  const first = { hash: HASH, id: 'r1', gateway: await living() };
  await claim(first);
  await answered(first, 2_500);
  vi.setSystemTime(Date.now() + 2_000);
  // The gateway ends, and says what was handed out.
  await heard(first);
  vi.setSystemTime(Date.now() + 400);
  const second = await living();
  expect(await claim({ ...first, id: 'r2', gateway: second })).toBe('r1');
  await answered({ ...first, gateway: second }, 2_500);
  vi.setSystemTime(Date.now() + 2_500);
  expect(await claim({ ...first, id: 'r3', gateway: 'g3' })).toBe('r3');
});

test('a claim that waited is as old as its bytes: what came before an answer has it', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  await serve();
  const first = { hash: HASH, id: 'r1', gateway: await living() };
  await claim(first);
  await answered(first);
  vi.setSystemTime(Date.now() + 9_000);
  const second = await living();
  expect(await claim({ ...first, id: 'r2', gateway: second, waitedMs: 9_100 })).toBe('r1');
  await answered({ ...first, gateway: second });
  vi.setSystemTime(Date.now() + 9_000);
  expect(await claim({ ...first, id: 'r3', gateway: 'g3', waitedMs: 8_900 })).toBe('r3');
});

test('after the end of a gateway, bytes whose answer was heard are a new request', async () => {
  await serve();
  const gone = { hash: HASH, id: 'r1', gateway: 'g1' };
  await claim(gone);
  await answered(gone);
  await heard(gone);
  expect(await claim({ ...gone, id: 'r2', gateway: 'g2' })).toBe('r2');
});

test('long after the answer of a gateway that is gone the same bytes are a new request', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  await serve();
  const gone = { hash: HASH, id: 'r1', gateway: 'g1' };
  await claim(gone);
  await answered(gone);
  vi.setSystemTime(Date.now() + 6_000);
  expect(await claim({ ...gone, id: 'r2', gateway: 'g2' })).toBe('r2');
});

test('a repeat that a gateway reads as it begins may be older, and has its first id', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  await serve();
  const gone = { hash: HASH, id: 'r1', gateway: 'g1' };
  await claim(gone);
  await answered(gone);
  vi.setSystemTime(Date.now() + 12_000);
  expect(await claim({ ...gone, id: 'r2', gateway: 'g2', early: true })).toBe('r1');
  await answered({ ...gone, gateway: 'g2' });
  vi.setSystemTime(Date.now() + 20_000);
  expect(await claim({ ...gone, id: 'r3', gateway: 'g3', early: true })).toBe('r3');
});

test('a gateway that asks again has answered its own request', async () => {
  await serve();
  expect(await claim({ hash: HASH, id: 'r1', gateway: 'g1' })).toBe('r1');
  expect(await claim({ hash: HASH, id: 'r2', gateway: 'g1' })).toBe('r2');
});

test('bytes that name their command keep their id, whoever asks and however late', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  await serve();
  const first = { hash: HASH, id: 'r1', gateway: await living(), named: true };
  await claim(first);
  vi.setSystemTime(Date.now() + 40_000);
  expect(await claim({ ...first, id: 'r2', gateway: 'g2' })).toBe('r1');
  await answered({ ...first, gateway: 'g2' });
  await heard({ ...first, gateway: 'g2' });
  expect(await claim({ ...first, id: 'r3', gateway: 'g2' })).toBe('r1');
  expect(await claim({ ...first, id: 'r4' })).toBe('r1');
});

test('a gateway that did not hear the answer to its claim gets the same answer again', async () => {
  await serve();
  await claim({ hash: HASH, id: 'r1', gateway: 'g1' });
  const next = { hash: HASH, id: 'r2', gateway: 'g2' };
  expect(await claim(next)).toBe('r1');
  expect(await claim(next)).toBe('r1');
});

test('gateways that ask at once get one id', async () => {
  await serve();
  const ids = await Promise.all(
    ['a', 'b', 'c'].map((name) => claim({ hash: HASH, id: name, gateway: name })),
  );
  expect(new Set(ids).size).toBe(1);
});

test('a note from before the clock was put back is of no known age', async () => {
  await serve();
  await claim({ hash: HASH, id: 'r1', gateway: 'g1' });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  const second = { hash: HASH, id: 'r2', gateway: 'g2' };
  expect(await claim(second)).toBe('r2');
});

test('without a worker the gateway gets an error at once', async () => {
  const first = { hash: HASH, id: 'r1', gateway: 'g1' };
  await expect(claim(first)).rejects.toMatchObject({
    code: 'BUS_NO_ANSWER',
  });
});
