import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RequestDelays, WaitingRequests } from './request-delays.ts';

let nats: TestNats;

beforeEach(async () => {
  nats = await startNats();
});
afterEach(async () => {
  await nats.close();
});

test('requests that take long at a gateway are known, until they do not', async () => {
  let now = 0;
  const waiting = new WaitingRequests(() => now);
  const stop = waiting.follow(await nats.connect('runner-pool'));
  const delays = new RequestDelays(await nats.connect('req-gateway'));
  for (const ms of [8, 250, 300, 9, 280]) delays.add(ms);
  await until('they are slow', () => waiting.areSlow);
  now += 2_900;
  expect(waiting.areSlow).toBe(true);
  now += 200;
  expect(waiting.areSlow).toBe(false);
  delays.close();
  stop();
});

test.each([
  [[8, 9, 5_000], false],
  [[8, 5_000, 5_000], true],
] as const)('of %j the one in the middle counts', async (samples, isSlow) => {
  const waiting = new WaitingRequests();
  let announced = 0;
  const bus = await nats.connect('runner-pool');
  const subscription = bus.connection.subscribe('brine.delay', {
    callback: (_error, msg) => {
      announced += 1;
      waiting.announced(msg.data);
    },
  });
  await bus.flush();
  const delays = new RequestDelays(await nats.connect('req-gateway'));
  for (const ms of samples) delays.add(ms);
  await until('it is announced', () => announced > 0);
  expect(waiting.areSlow).toBe(isSlow);
  delays.close();
  subscription.unsubscribe();
});

test('what is no number says nothing', () => {
  const waiting = new WaitingRequests();
  for (const text of ['', 'long', '{}', '[1000]x']) waiting.announced(Buffer.from(text));
  expect(waiting.areSlow).toBe(false);
});
