import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ReturnHold } from './return-hold.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function holding(options: { readonly maxHeld?: number; readonly maxKnown?: number } = {}) {
  const out: string[] = [];
  const hold = new ReturnHold<string>({ release: (item) => out.push(item), ...options });
  return { out, hold };
}

it('a return waits for its job, in order, and others pass it', () => {
  const { out, hold } = holding();
  hold.offer('a', 'a1');
  hold.offer('a', 'a2');
  hold.announced('b');
  hold.offer('b', 'b1');
  expect(out).toEqual(['b1']);
  hold.announced('a');
  hold.offer('a', 'a3');
  expect(out).toEqual(['b1', 'a1', 'a2', 'a3']);
  expect(hold.stats()).toEqual({ waiting: 0, held: 2, timedOut: 0, overflowed: 0 });
});

it('a return waits for one second at most, and later ones of its job not at all', () => {
  const { out, hold } = holding();
  hold.offer('a', 'a1');
  vi.advanceTimersByTime(999);
  expect(out).toEqual([]);
  vi.advanceTimersByTime(1);
  hold.offer('a', 'a2');
  expect(out).toEqual(['a1', 'a2']);
});

it('no more than a number wait', () => {
  const { out, hold } = holding({ maxHeld: 2 });
  hold.offer('a', 'a1');
  hold.offer('b', 'b1');
  hold.offer('a', 'a2');
  expect(out).toEqual(['a1', 'a2']);
  hold.close();
  expect(out).toEqual(['a1', 'a2', 'b1']);
});

it('old jobs are forgotten, not kept without end', () => {
  const { hold } = holding({ maxKnown: 2 });
  for (const jid of ['a', 'b', 'c']) hold.announced(jid);
  expect(['a', 'b', 'c'].map((jid) => hold.knows(jid))).toEqual([false, true, true]);
});
