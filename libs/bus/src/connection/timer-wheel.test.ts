import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TimerWheel } from './timer-wheel.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('a time-out fires once, not before its time and within a tick after', () => {
  const wheel = new TimerWheel(50);
  const fire = vi.fn();
  wheel.set(120, fire);
  vi.advanceTimersByTime(119);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(81);
  expect(fire).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(100_000);
  expect(fire).toHaveBeenCalledTimes(1);
});

test('a time-out of more than a turn of the wheel waits for its turn', () => {
  const wheel = new TimerWheel(50);
  const fire = vi.fn();
  wheel.set(60_000, fire);
  vi.advanceTimersByTime(59_999);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(100);
  expect(fire).toHaveBeenCalledTimes(1);
});

test('a cleared time-out never fires and is not counted', () => {
  const wheel = new TimerWheel(50);
  const fire = vi.fn();
  const timer = wheel.set(100, fire);
  expect(wheel.size).toBe(1);
  timer.clear();
  timer.clear();
  expect(wheel.size).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(fire).not.toHaveBeenCalled();
});

test('the wheel starts again after it has been idle', () => {
  const wheel = new TimerWheel(50);
  wheel.set(50, () => undefined);
  vi.advanceTimersByTime(10_000);
  expect(vi.getTimerCount()).toBe(0);
  const fire = vi.fn();
  wheel.set(100, fire);
  vi.advanceTimersByTime(200);
  expect(fire).toHaveBeenCalledTimes(1);
});

test('a time-out that another sets in firing waits for its own time', () => {
  const wheel = new TimerWheel(50);
  const fire = vi.fn();
  wheel.set(50, () => void wheel.set(50, fire));
  vi.advanceTimersByTime(90);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(100);
  expect(fire).toHaveBeenCalledTimes(1);
});

test('what was there to be read before a late time-out comes before it', async () => {
  vi.useRealTimers();
  const wheel = new TimerWheel(10);
  const { port1, port2 } = new MessageChannel();
  const seen: string[] = [];
  const both = new Promise<void>((resolve) => {
    const see = (what: string): void => void (seen.push(what) === 2 && resolve());
    port2.on('message', see);
    wheel.set(40, () => see('time-out'));
  });
  port1.postMessage('answer');
  // Without a processor for longer than it waits.
  const until = performance.now() + 100;
  while (performance.now() < until);
  await both;
  port1.close();
  wheel.close();
  expect(seen).toEqual(['answer', 'time-out']);
});
