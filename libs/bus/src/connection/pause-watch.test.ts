import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PauseWatch } from './pause-watch.ts';

let watch: PauseWatch;
let seen: string[];

beforeEach(() => {
  vi.useFakeTimers();
  seen = [];
  watch = new PauseWatch({
    everyMs: 500,
    gapMs: 1_500,
    onBeat: () => seen.push('beat'),
    onPause: () => seen.push('pause'),
  });
});

afterEach(() => {
  watch.close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Stopped: clocks go on, timers do not. */
function stopFor(ms: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}

test('a beat that is a little late is no pause', () => {
  stopFor(900);
  vi.advanceTimersByTime(500);
  expect(seen).toEqual(['beat']);
  expect(watch.lastedMs(1_000)).toBe(0);
});

test('a pause is reported once, before the beat after it', () => {
  stopFor(5_000);
  vi.advanceTimersByTime(1_000);
  expect(seen).toEqual(['pause', 'beat', 'beat']);
});

test('a read before the timer fires sees the pause, and one long after it sees none', () => {
  stopFor(5_000);
  expect(watch.lastedMs(1_000)).toBe(5_000);
  expect(seen).toEqual(['pause']);
  vi.advanceTimersByTime(1_000);
  expect(watch.lastedMs(1_000)).toBe(0);
  expect(seen).toEqual(['pause', 'beat', 'beat']);
});
