import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, type SaltMap } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { broadcastToWorkers, onBroadcast } from './worker-broadcasts.ts';

let nats: TestNats;
let one: Bus;
let other: Bus;
let gateway: Bus;

beforeAll(async () => {
  nats = await startNats({ streams: false });
  one = await nats.connect('worker-pool');
  other = await nats.connect('worker-pool');
  gateway = await nats.connect('req-gateway');
}, 600_000);
afterAll(() => nats.close());

test('a word reaches every worker, and no other service hears it', async () => {
  const heard: [string, SaltMap][] = [];
  const troubles: unknown[] = [];
  const hear = (bus: Bus, name: string): (() => void) =>
    onBroadcast(
      bus,
      (broadcast) => heard.push([name, broadcast]),
      (err) => troubles.push(err),
    );
  const stops = [hear(one, 'one'), hear(other, 'other'), hear(gateway, 'gateway')];
  await Promise.all([one.flush(), other.flush()]);
  await until('the gateway is refused', () => troubles.length > 0);
  broadcastToWorkers(one, mapOf({ kind: 'files', act: 'update' }));
  await until('both have heard it', () => heard.length >= 2);
  stops.forEach((stop) => stop());
  expect(heard.map(([name]) => name).sort()).toEqual(['one', 'other']);
  expect(heard[0]?.[1]).toEqual(mapOf({ kind: 'files', act: 'update' }));
  expect(() => broadcastToWorkers(one, mapOf({ long: 'x'.repeat(70_000) }))).toThrow(RangeError);
});
