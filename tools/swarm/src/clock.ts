// CLOCK_MONOTONIC is one for all processes of a host, so that times of children can be compared;
// `performance.now()` is the same clock from another start, and cheaper to read.
const START_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();
const UNIX_OFFSET_MS = Date.now() - monotonicMs();

/** Milliseconds of the host's monotonic clock, the same in all processes. */
export function monotonicMs(): number {
  return START_MS + performance.now();
}

/** Unix time in ms of a moment of the monotonic clock; steps of the wall clock do not show. */
export function unixMs(monotonic: number): number {
  return monotonic + UNIX_OFFSET_MS;
}
