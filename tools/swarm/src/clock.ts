// All processes of a host share CLOCK_MONOTONIC, so that times of children can be compared.
// `performance.now()` is the same clock with another start, and cheaper to read.
const START_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();
const UNIX_OFFSET_MS = Date.now() - monotonicMs();

/** Milliseconds of the host's monotonic clock, the same in all processes. */
export function monotonicMs(): number {
  return START_MS + performance.now();
}

/** Unix time in ms for a monotonic time; without steps of the wall clock. */
export function unixMs(monotonic: number): number {
  return monotonic + UNIX_OFFSET_MS;
}
