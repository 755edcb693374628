import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timeSentence, timeTrack } from './time-track.ts';

const HOUR = 3_600_000;

test('a track ends soon after the usual time, and shows no deadline of an hour', () => {
  const track = timeTrack({ elapsedMs: 1_000, deadlineMs: HOUR, usualMs: 4_000 });
  expect(track).toEqual({ elapsed: 0.125, usual: 0.5, deadline: undefined });
});

test('a deadline that is near is the end', () => {
  const track = timeTrack({ elapsedMs: 3_000, deadlineMs: 6_000, usualMs: 4_500 });
  expect(track).toEqual({ elapsed: 0.5, usual: 0.75, deadline: 1 });
});

test('a job that takes longer than past runs has its mark in the track still', () => {
  const track = timeTrack({ elapsedMs: 40_000, deadlineMs: HOUR, usualMs: 4_400 });
  expect(track?.elapsed).toBeLessThan(1);
  expect(track?.usual).toBeCloseTo(0.1);
});

test('without past runs the deadline is the end, without both there is no track', () => {
  const times = { elapsedMs: HOUR / 4, deadlineMs: HOUR, usualMs: undefined };
  expect(timeTrack(times)).toEqual({ elapsed: 0.25, usual: undefined, deadline: 1 });
  expect(timeTrack({ ...times, deadlineMs: undefined })).toBeUndefined();
});

test('no place is outside of the track', () => {
  const ms = fc.oneof(fc.integer({ min: -HOUR, max: HOUR }), fc.constant(0));
  const maybe = fc.option(ms, { nil: undefined });
  fc.assert(
    fc.property(ms, maybe, maybe, (elapsedMs, deadlineMs, usualMs) => {
      const track = timeTrack({ elapsedMs, deadlineMs, usualMs });
      for (const place of Object.values(track ?? {})) {
        if (place === undefined) continue;
        expect(place).toBeGreaterThanOrEqual(0);
        expect(place).toBeLessThanOrEqual(1);
      }
    }),
  );
});

test.each([
  [
    { elapsedMs: 12_300, deadlineMs: HOUR, usualMs: 4_400 },
    'runs for 12 s, past runs took 4.4 s, deadline in 59 min 48 s',
  ],
  [{ elapsedMs: 0, deadlineMs: undefined, usualMs: undefined }, 'runs for 1 s, no deadline'],
  [
    { elapsedMs: HOUR, deadlineMs: HOUR, usualMs: undefined },
    'runs for 1 h 0 min, the deadline is over',
  ],
])('its sentence has the times that are known', (times, sentence) => {
  expect(timeSentence(times)).toBe(sentence);
});
