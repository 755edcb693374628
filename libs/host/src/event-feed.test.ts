import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WaitingReturns } from './event-feed.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp(options: { readonly maxWaiting?: number; readonly maxKnown?: number } = {}) {
  const out: string[] = [];
  const returns = new WaitingReturns<string>({ release: (one) => out.push(one), ...options });
  return { out, returns };
}

it('a return waits for its job, in order, and others pass it', () => {
  const { out, returns } = setUp();
  returns.offer('a', 'a1');
  returns.offer('a', 'a2');
  returns.announced('b');
  returns.offer('b', 'b1');
  expect(out).toEqual(['b1']);
  returns.announced('a');
  returns.offer('a', 'a3');
  expect(out).toEqual(['b1', 'a1', 'a2', 'a3']);
  expect(returns.stats()).toEqual({ waiting: 0, held: 2, timedOut: 0, overflowed: 0 });
});

it('a return waits for one second at most, and later ones of its job not at all', () => {
  const { out, returns } = setUp();
  returns.offer('a', 'a1');
  vi.advanceTimersByTime(999);
  expect(out).toEqual([]);
  vi.advanceTimersByTime(1);
  returns.offer('a', 'a2');
  expect(out).toEqual(['a1', 'a2']);
});

it('no more than a number wait', () => {
  const { out, returns } = setUp({ maxWaiting: 2 });
  returns.offer('a', 'a1');
  returns.offer('b', 'b1');
  returns.offer('a', 'a2');
  expect(out).toEqual(['a1', 'a2']);
  returns.close();
  expect(out).toEqual(['a1', 'a2', 'b1']);
});

it('old jobs are forgotten, not kept without end', () => {
  const { returns } = setUp({ maxKnown: 2 });
  for (const jid of ['a', 'b', 'c']) returns.announced(jid);
  expect(['a', 'b', 'c'].map((jid) => returns.knows(jid))).toEqual([false, true, true]);
});
