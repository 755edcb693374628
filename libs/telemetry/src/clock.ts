/** A larger jump of the wall clock is followed at once. */
const DRIFT_MAX_MS = 2;

let originMs = performance.timeOrigin;

/**
 * Unix milliseconds with fractions, which Date.now() lacks; for start and end of spans. It runs
 * with the monotonic clock and follows the wall clock when that was set, so that the spans of
 * several processes stay comparable.
 */
export function nowMs(): number {
  const wall = Date.now();
  const monotonic = originMs + performance.now();
  if (Math.abs(monotonic - wall) <= DRIFT_MAX_MS) return monotonic;
  originMs = wall - performance.now();
  return wall;
}
