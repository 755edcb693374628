/**
 * A wall clock time in ms, counted as if the clock were UTC. Salt computes with such times, because
 * its schedule has no time zones.
 */
export type WallMs = number;

/** A local time zone. */
export interface Zone {
  /** Offset of the wall clock from UTC at a moment (unix ms), in ms. */
  offsetAt(ms: number): number;
}

const DAY_MS = 86_400_000;

/** The wall clock time of a moment (unix ms). */
export function wallOf(ms: number, zone: Zone): WallMs {
  return ms + zone.offsetAt(ms);
}

/**
 * The moment (unix ms) of a wall clock time. If the time comes twice, because the clock is put
 * back, it is the first one. If the time is skipped, because the clock is put forward, it is the
 * first moment after the gap.
 */
export function momentOf(wall: WallMs, zone: Zone): number {
  const before = wall - zone.offsetAt(wall - DAY_MS);
  const after = wall - zone.offsetAt(wall + DAY_MS);
  const early = Math.min(before, after);
  const late = Math.max(before, after);
  if (wallOf(early, zone) === wall) return early;
  if (wallOf(late, zone) === wall) return late;
  return firstShowing(wall, early, late, zone);
}

/** The first moment of a span at which the wall clock has reached a time. */
function firstShowing(wall: WallMs, from: number, to: number, zone: Zone): number {
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (wallOf(middle, zone) >= wall) high = middle;
    else low = middle;
  }
  return wallOf(low, zone) >= wall ? low : high;
}

/** Midnight of the day of a time. */
export function dayOf(wall: WallMs): WallMs {
  return Math.floor(wall / DAY_MS) * DAY_MS;
}

/** Midnight a number of days later. */
export function daysLater(day: WallMs, days: number): WallMs {
  return day + days * DAY_MS;
}
