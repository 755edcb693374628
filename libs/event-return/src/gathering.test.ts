import { expect, test } from 'vitest';
import { Gathering, gatheringLimits } from './gathering.ts';

const event = (position: string, bytes = 10) => {
  return { tag: `t/${position}`, timeMs: 0, data: Buffer.alloc(bytes), position };
};

test('without a queue events are written a moment after the first of them', () => {
  let now = 100;
  const gathering = new Gathering(gatheringLimits(0, 0), 'p0', () => now);
  expect(gathering.waitMs).toBe(undefined);
  gathering.add(event('p1'));
  expect(gathering.waitMs).toBe(50);
  now = 140;
  gathering.add(event('p2'));
  expect(gathering.waitMs).toBe(10);
  now = 200;
  expect(gathering.waitMs).toBe(0);
  gathering.pass('p3');
  expect(gathering.take()).toMatchObject({ from: 'p0', to: 'p3' });
  expect(gathering.isEmpty).toBe(true);
});

test('a queue waits for its number of events, and for its seconds where there are some', () => {
  let now = 0;
  const gathering = new Gathering(gatheringLimits(3, 0), 'p0', () => now);
  for (const position of ['p1', 'p2']) gathering.add(event(position));
  now = 1e9;
  expect(gathering.waitMs).toBe(undefined);
  gathering.add(event('p3'));
  expect(gathering.waitMs).toBe(0);
  const timed = new Gathering(gatheringLimits(3, 5), 'p0', () => now);
  timed.add(event('p1'));
  now += 2_000;
  expect(timed.waitMs).toBe(3_000);
});

test('a batch is bounded by bytes and by 10,000 events, whatever the queue is', () => {
  expect(gatheringLimits(1_000_000, 0).events).toBe(10_000);
  const gathering = new Gathering(gatheringLimits(5_000, 0), 'p0', () => 0);
  gathering.add(event('p1', 9 * 1024 * 1024));
  expect(gathering.waitMs).toBe(0);
});

test('what was passed counts as written only while nothing waits', () => {
  const gathering = new Gathering(gatheringLimits(0, 0), 'p0', () => 0);
  gathering.pass('p1');
  expect(gathering.written).toBe('p1');
  gathering.add(event('p2'));
  gathering.pass('p3');
  expect(gathering.written).toBe('p0');
  expect(gathering.take()).toMatchObject({ from: 'p0', to: 'p3' });
  expect(gathering.written).toBe('p3');
});
