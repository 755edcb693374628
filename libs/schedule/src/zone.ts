/**
 * A time on the clock of the wall, in ms: what the clock shows, counted as if it were UTC. Salt
 * reckons with such times, as it has no time zones in its schedule.
 */
export type WallMs = number;

/** A local time zone. */
export interface Zone {
  /** How far the clock of the wall is ahead of UTC at a moment (unix ms), in ms. */
  offsetAt(ms: number): number;
}

const DAY_MS = 86_400_000;

/** What the clock of the wall shows at a moment (unix ms). */
export function wallOf(ms: number, zone: Zone): WallMs {
  return ms + zone.offsetAt(ms);
}

/**
 * The moment (unix ms) at which the clock of the wall shows a time. A time that comes twice, when
 * the clock is put back, counts the first time. One that is left out, when the clock is put
 * forward, is the first moment after the gap.
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

/** The first moment of a span at which the clock shows the time or a later one. */
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

/** Midnight of the day that is so many days later. */
export function daysLater(day: WallMs, days: number): WallMs {
  return day + days * DAY_MS;
}
