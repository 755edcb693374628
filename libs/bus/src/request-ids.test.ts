import { startNats, type TestNats } from '@brine/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Bucket, claimRequestId, requestAnswered, serveRequestIds, type Bus } from './index.ts';

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

async function serve(): Promise<void> {
  const worker = await nats.connect('worker-pool');
  serveRequestIds(worker, new Bucket(worker, 'brine_requests'));
  await worker.flush();
}

test('the same bytes at the next gateway process keep the id of the unanswered request', async () => {
  await serve();
  const first = { hash: HASH, id: 'r1', gateway: 'g1' };
  const second = { hash: HASH, id: 'r2', gateway: 'g2' };
  expect(await claimRequestId(gateway, first, 1000)).toBe('r1');
  expect(await claimRequestId(gateway, second, 1000)).toBe('r1');
});

test('once answered, the same bytes are a new request', async () => {
  await serve();
  const first = { hash: HASH, id: 'r1', gateway: 'g1' };
  await claimRequestId(gateway, first, 1000);
  await requestAnswered(gateway, first, 1000);
  const second = { hash: HASH, id: 'r2', gateway: 'g2' };
  expect(await claimRequestId(gateway, second, 1000)).toBe('r2');
  // A late word about the first does not close the second.
  await requestAnswered(gateway, first, 1000);
  expect(await claimRequestId(gateway, { ...second, id: 'r3', gateway: 'g3' }, 1000)).toBe('r2');
});

test('a gateway that asks again has answered its own request', async () => {
  await serve();
  expect(await claimRequestId(gateway, { hash: HASH, id: 'r1', gateway: 'g1' }, 1000)).toBe('r1');
  expect(await claimRequestId(gateway, { hash: HASH, id: 'r2', gateway: 'g1' }, 1000)).toBe('r2');
});

test('gateways that ask at once get one id', async () => {
  await serve();
  const ids = await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      claimRequestId(gateway, { hash: HASH, id: name, gateway: name }, 2000),
    ),
  );
  expect(new Set(ids).size).toBe(1);
});

test('without a worker the gateway is told so at once', async () => {
  const claim = { hash: HASH, id: 'r1', gateway: 'g1' };
  await expect(claimRequestId(gateway, claim, 1000)).rejects.toMatchObject({
    code: 'BUS_NO_ANSWER',
  });
});
