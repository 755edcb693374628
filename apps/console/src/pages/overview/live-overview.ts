import type { StreamData } from '@brine/api';
import type { Overview } from '@brine/api/fleet';

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

/** The overview after a message of the stream. @param nowMs ms of the epoch */
export function liveOverview(
  overview: Overview,
  { fleet, jobs }: StreamData['overview'],
  nowMs: number,
): Overview {
  const facets = overview.fleet.facets;
  return {
    ...overview,
    fleet:
      fleet === undefined
        ? overview.fleet
        : { total: fleet.total, facets: { ...facets, key: fleet.key, present: fleet.present } },
    jobs:
      overview.jobs === null
        ? null
        : { ...overview.jobs, perMinute: withMinute(overview.jobs.perMinute, jobs, nowMs) },
  };
}

type Minutes = NonNullable<Overview['jobs']>['perMinute'];

/** Counts into the minute of now; the oldest ones make room. */
function withMinute(
  minutes: Minutes,
  { began, returns, failed }: StreamData['overview']['jobs'],
  nowMs: number,
): Minutes {
  const kept = [...minutes];
  const thisMinute = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  let lastMs = Date.parse(kept.at(-1)?.at ?? '');
  if (Number.isNaN(lastMs)) return minutes;
  // After an hour without a message all minutes are new.
  for (let step = 0; lastMs < thisMinute && step < minutes.length; step += 1) {
    lastMs += MINUTE_MS;
    kept.push({ at: new Date(lastMs).toISOString(), jobs: 0, returns: 0, failed: 0 });
    kept.shift();
  }
  const last = kept.at(-1);
  if (last === undefined) return minutes;
  kept[kept.length - 1] = {
    ...last,
    jobs: last.jobs + began,
    returns: last.returns + returns,
    failed: last.failed + failed,
  };
  return kept;
}

/** Returns of each of the last seconds. */
export interface ReturnRate {
  /** The second of the last value, seconds of the epoch. */
  readonly at: number;
  readonly counts: readonly number[];
}

/** Seconds that a rate has. */
const RATE_SECONDS = 60;

/** A rate without returns. @param nowMs ms of the epoch */
export function noReturns(nowMs: number): ReturnRate {
  const counts = Array.from({ length: RATE_SECONDS }, () => 0);
  return { at: Math.floor(nowMs / SECOND_MS), counts };
}

/** A rate with the returns that came now. */
export function withReturns(rate: ReturnRate, returns: number, nowMs: number): ReturnRate {
  const at = Math.max(rate.at, Math.floor(nowMs / SECOND_MS));
  const moved = Math.min(RATE_SECONDS, at - rate.at);
  const counts = [...rate.counts.slice(moved), ...Array.from({ length: moved }, () => 0)];
  counts[counts.length - 1] = (counts.at(-1) ?? 0) + returns;
  return { at, counts };
}
