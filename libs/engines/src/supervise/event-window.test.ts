import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LIMITS } from '../protocol.ts';
import { EventWindow } from './event-window.ts';

test('the position follows the first event that is not done', () => {
  const window = new EventWindow();
  expect(window.position).toBeUndefined();
  const [one, two, three] = ['a', 'b', 'c'].map((position) => window.add(position, 10));
  window.done(two!);
  expect(window.position).toBeUndefined();
  window.done(one!);
  expect(window.position).toBe('b');
  expect(window.size).toBe(1);
  window.done(three!);
  window.done(three!);
  window.done(99);
  expect(window.position).toBe('c');
});

test('what is passed counts once all before it is done', () => {
  const window = new EventWindow();
  window.pass('a');
  expect(window.position).toBe('a');
  const number = window.add('b', 1);
  window.pass('c');
  expect(window.position).toBe('a');
  window.done(number);
  expect(window.position).toBe('c');
});

test('it has room for so many events and so many bytes', async () => {
  const window = new EventWindow();
  const numbers = Array.from({ length: LIMITS.events }, (_, at) => window.add(String(at), 1));
  expect(window.hasRoom).toBe(false);
  let isRoom = false;
  const room = window.room(new AbortController().signal).then(() => (isRoom = true));
  await Promise.resolve();
  expect(isRoom).toBe(false);
  window.done(numbers[0]!);
  await room;
  expect(isRoom).toBe(true);
  const large = new EventWindow();
  const one = large.add('a', LIMITS.eventBytes);
  expect(large.hasRoom).toBe(false);
  large.done(one);
  expect(large.hasRoom).toBe(true);
});

test('waiting for room ends when the engine is to stop', async () => {
  const window = new EventWindow();
  window.add('a', LIMITS.eventBytes);
  const stop = new AbortController();
  const room = window.room(stop.signal);
  stop.abort();
  await room;
});

test('in whatever order events are done, no position goes back or past one that is not', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(Array.from({ length: 40 }, (_, at) => at + 1)), (order) => {
      const window = new EventWindow();
      for (let number = 1; number <= 40; number += 1) {
        expect(window.add(String(number), 1)).toBe(number);
      }
      const done = new Set<number>();
      for (const number of order) {
        window.done(number);
        done.add(number);
        const reached = Number(window.position ?? 0);
        for (let before = 1; before <= reached; before += 1) expect(done.has(before)).toBe(true);
        expect(done.has(reached + 1)).toBe(false);
      }
    }),
  );
});
