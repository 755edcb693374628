/** Steps of a slider. */
export const SCALE_STEPS = 1_000;

/**
 * A time on a slider. Most happens in the first seconds of a job, whose deadline may be an hour
 * later: the scale is one of logarithms, 1 ms of a job of an hour is as wide as its last quarter.
 * @param offsetMs since the begin
 * @param spanMs from the begin to the end of the slider
 */
export function stepOf(offsetMs: number, spanMs: number): number {
  const inside = Math.max(0, Math.min(offsetMs, spanMs));
  return Math.round((Math.log1p(inside) / Math.log1p(Math.max(1, spanMs))) * SCALE_STEPS);
}

/** The time at a step, ms since the begin. */
export function offsetOf(step: number, spanMs: number): number {
  return Math.round(Math.expm1((step / SCALE_STEPS) * Math.log1p(Math.max(1, spanMs))));
}
