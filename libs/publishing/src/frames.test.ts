import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Burst } from './again-rule.ts';
import { messagesOf } from './frames.ts';
import { SerialClock } from './serials.ts';

test('serials rise strictly, whatever the times are', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2 }), (times) => {
      const clock = new SerialClock();
      const serials = times.map((time) => clock.next(time));
      expect(serials.every((serial, n) => n === 0 || serial > (serials[n - 1] ?? 0))).toBe(true);
    }),
  );
});

test('a publisher that saw only the last messages comes to the same serials', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 60, maxLength: 200 }),
      fc.integer({ min: 1, max: 9 }),
      (steps, skipped) => {
        let now = 1_000_000;
        // Bursts within one microsecond, then time enough to catch up.
        const times = steps.map((step, n) => (now += n % 10 === 9 ? 20 : step));
        const all = new SerialClock();
        const late = new SerialClock();
        times.forEach((time, n) => {
          all.next(time);
          if (n >= skipped) late.next(time);
        });
        expect(late.last).toBe(all.last);
      },
    ),
  );
});

test('with a new key serials begin with the time of its marker again', () => {
  const clock = new SerialClock();
  clock.next(1_000);
  clock.newKey(10);
  expect(clock.next(12)).toBe(12);
});

test('no serial of a new key is that of its marker or below, though the clock went back', () => {
  const clock = new SerialClock();
  clock.newKey(10);
  expect(clock.next(9)).toBe(11);
});

const payload = Buffer.from('p');
const texts = (messages: Iterable<readonly Uint8Array[]>): string[][] =>
  [...messages].map((frames) => frames.map((frame) => Buffer.from(frame).toString()));

test('without zmq_filtering a publication is one frame', () => {
  const rules = { zmqFiltering: false, orderMasters: true };
  const record = { tgtType: 'list', minions: ['a', 'b'] };
  expect(texts(messagesOf(payload, record, rules))).toEqual([['p']]);
});

test('with zmq_filtering each minion of a glob, pcre or list gets its copy', () => {
  const rules = { zmqFiltering: true, orderMasters: true };
  for (const tgtType of ['glob', 'pcre', 'list']) {
    const messages = texts(messagesOf(payload, { tgtType, minions: ['a', 'b'] }, rules));
    expect(messages).toEqual([
      ['86f7e437faa5a7fce15d1ddcb9eaeaea377667b8', 'p'],
      ['e9d71f5ee7c92d6dc9e92ffdad17b8bd49418f98', 'p'],
      ['syndic', 'p'],
    ]);
  }
});

test('with zmq_filtering other target types go to all', () => {
  const rules = { zmqFiltering: true, orderMasters: false };
  const record = { tgtType: 'grain', minions: ['a'] };
  expect(texts(messagesOf(payload, record, rules))).toEqual([['broadcast', 'p']]);
});

test('a burst is many connections within two seconds, reported once', () => {
  const few = new Burst('minions');
  expect([0, 10, 3000, 3010].map((at) => few.connected(at, 4))).toEqual([
    false,
    false,
    false,
    false,
  ]);
  const many = new Burst('minions');
  expect([0, 1, 2, 3].map((at) => many.connected(at, 4))).toEqual([false, false, true, false]);
  const large = new Burst('minions');
  const told = Array.from({ length: 200 }, (_, n) => large.connected(n, 1000));
  expect(told.indexOf(true)).toBe(99);
});

test('where masters are below, one of a few that comes back is a burst; one of many is none', () => {
  const relays = new Burst('syndics');
  expect([0, 10, 3000].map((at) => relays.connected(at, 2))).toEqual([true, false, true]);
  const large = new Burst('syndics');
  expect(large.connected(0, 100)).toBe(false);
});
