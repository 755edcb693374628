import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sleepUnless, TIMER_MAX_MS } from './sleep.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a sleep ends when its time has passed, and leaves no listener at the signal', async () => {
  const stop = new AbortController();
  const removed = vi.spyOn(stop.signal, 'removeEventListener');
  const slept = sleepUnless(50, stop.signal);
  await vi.advanceTimersByTimeAsync(50);
  expect(await slept).toBe(true);
  expect(removed).toHaveBeenCalledOnce();
});

test('the signal ends a sleep and its timer', async () => {
  const stop = new AbortController();
  const slept = sleepUnless(50, stop.signal);
  stop.abort();
  expect(await slept).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test('after the signal there is no sleep', async () => {
  expect(await sleepUnless(50, AbortSignal.abort())).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test('a sleep without an end does not end at once', async () => {
  const stop = new AbortController();
  let ended = false;
  const slept = sleepUnless(Infinity, stop.signal).then(() => (ended = true));
  await vi.advanceTimersByTimeAsync(TIMER_MAX_MS - 1);
  expect(ended).toBe(false);
  stop.abort();
  await slept;
});

test('a sleep without a reference does not keep the process', async () => {
  vi.useRealTimers();
  const stop = new AbortController();
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const slept = sleepUnless(60_000, stop.signal, { ref: false });
  const timer = timers.mock.results[0]?.value as NodeJS.Timeout;
  timers.mockRestore();
  expect(timer.hasRef()).toBe(false);
  stop.abort();
  await slept;
});
