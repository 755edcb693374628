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
