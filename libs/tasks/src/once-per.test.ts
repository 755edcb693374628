import { expect, test } from 'vitest';
import { OncePer } from './once-per.ts';

test('the first event passes, then one in each period, with the count of those between', () => {
  let now = 0;
  const log = new OncePer(1_000, { now: () => now });
  expect([log.pass(), log.pass(), log.pass()]).toEqual([1, 0, 0]);
  now = 999;
  expect(log.pass()).toBe(0);
  now = 1_000;
  expect(log.pass()).toBe(4);
  now = 2_000;
  expect(log.pass()).toBe(1);
});

test('each key has its own period', () => {
  const log = new OncePer(1_000);
  expect([log.pass('a'), log.pass('b'), log.pass('a')]).toEqual([1, 1, 0]);
});

test('without a period an event passes once, and again after a clearing', () => {
  let now = 0;
  const log = new OncePer(Infinity, { now: () => now });
  expect([log.pass(), log.pass()]).toEqual([1, 0]);
  now = Number.MAX_SAFE_INTEGER;
  expect(log.pass()).toBe(0);
  log.clear();
  expect(log.pass()).toBe(1);
});

test('more keys than are remembered do not pass', () => {
  let now = 0;
  const log = new OncePer(1_000, { keysMax: 3, now: () => now });
  for (let n = 0; n < 3; n += 1) expect(log.pass(`key ${n}`)).toBe(1);
  expect(log.pass('one more')).toBe(0);
  now = 1_000;
  expect(log.pass('key 0')).toBe(1);
});
