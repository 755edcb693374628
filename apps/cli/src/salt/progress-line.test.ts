import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ProgressLine } from './progress-line.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the line comes after a second, counts, and is taken away', () => {
  const shown: string[] = [];
  const line = new ProgressLine((text) => shown.push(text), ['a', 'b', 'c']);
  line.took('a');
  vi.advanceTimersByTime(999);
  expect(shown).toEqual([]);
  vi.advanceTimersByTime(1);
  line.took('b');
  line.took('b');
  vi.advanceTimersByTime(500);
  // A minion below a syndic, of which the master did not know.
  line.took('below');
  vi.advanceTimersByTime(500);
  line.end();
  vi.advanceTimersByTime(5_000);
  expect(shown).toEqual([
    '1 of 3 returned, 1 s',
    '2 of 3 returned, 1 s',
    '3 of 4 returned, 2 s',
    '',
  ]);
});

test('a job that ends at once shows nothing, and neither does one without a terminal', () => {
  const shown: string[] = [];
  const quick = new ProgressLine((text) => shown.push(text), ['a']);
  quick.took('a');
  quick.end();
  const piped = new ProgressLine(undefined, ['a']);
  vi.advanceTimersByTime(5_000);
  piped.end();
  expect(shown.filter((text) => text !== '')).toEqual([]);
});

test('with brine.progress off there is none', () => {
  const shown: string[] = [];
  const terminal = { status: (text: string) => void shown.push(text) };
  const config = { brine: { progress: false } };
  const line = ProgressLine.for({ config, terminal } as never, ['a']);
  vi.advanceTimersByTime(5_000);
  line.end();
  expect(shown).toEqual([]);
});
