import type { JobLine } from '@brine/api/jobs';
import { duration } from '../times.ts';

/** The times of a job that waits for minions, ms. */
export interface JobTimes {
  readonly elapsedMs: number;
  /** From its begin; undefined for none. */
  readonly deadlineMs: number | undefined;
  /** How long past runs of its function took; undefined where that is not known. */
  readonly usualMs: number | undefined;
}

/** The times of a job; undefined for one that waits for no minion. */
export function jobTimes(
  { published, deadline, counts }: Pick<JobLine, 'published' | 'deadline' | 'counts'>,
  nowMs: number,
  usualMs: number | undefined,
): JobTimes | undefined {
  if (counts.waiting === 0) return undefined;
  const startMs = Date.parse(published);
  const deadlineMs = deadline === null ? undefined : Date.parse(deadline) - startMs;
  return { elapsedMs: Math.max(0, nowMs - startMs), deadlineMs, usualMs };
}

/** Places on a track, from 0 to 1. */
export interface TimeTrack {
  readonly elapsed: number;
  readonly usual: number | undefined;
  /** Undefined for none, and for one beyond the end of the track. */
  readonly deadline: number | undefined;
}

/** Room after the time that past runs took, and after what has elapsed, as parts of it. */
const AFTER_USUAL = 2;
const AFTER_ELAPSED = 1.1;

/**
 * How far a job is in its time. Most jobs take seconds and have an hour: a track ends soon after
 * the usual time, and where that is not known, at the deadline.
 * @returns undefined where neither is known
 */
export function timeTrack({ elapsedMs, deadlineMs, usualMs }: JobTimes): TimeTrack | undefined {
  const wantedMs =
    usualMs === undefined
      ? deadlineMs
      : Math.max(usualMs * AFTER_USUAL, elapsedMs * AFTER_ELAPSED, 1);
  const endMs = Math.min(wantedMs ?? Infinity, deadlineMs ?? Infinity);
  if (endMs <= 0 || endMs === Infinity) return undefined;
  const placeOf = (ms: number): number => Math.max(0, Math.min(1, ms / endMs));
  return {
    elapsed: placeOf(elapsedMs),
    usual: usualMs === undefined || usualMs > endMs ? undefined : placeOf(usualMs),
    deadline: deadlineMs === undefined || deadlineMs > endMs ? undefined : placeOf(deadlineMs),
  };
}

/** The same as a sentence. */
export function timeSentence({ elapsedMs, deadlineMs, usualMs }: JobTimes): string {
  const leftMs = deadlineMs === undefined ? undefined : deadlineMs - elapsedMs;
  return [
    `runs for ${whole(elapsedMs)}`,
    usualMs === undefined ? '' : `past runs took ${duration(usualMs)}`,
    leftMs === undefined ? 'no deadline' : '',
    leftMs !== undefined && leftMs > 0 ? `deadline in ${whole(leftMs)}` : '',
    leftMs !== undefined && leftMs <= 0 ? 'the deadline is over' : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** A time that moves on: whole seconds. */
function whole(ms: number): string {
  return duration(Math.max(1, Math.round(ms / 1_000)) * 1_000).replace('.0 s', ' s');
}
