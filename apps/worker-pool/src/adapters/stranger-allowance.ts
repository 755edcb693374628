/** Events of refused and waiting log-ins that may come at once: a fleet that is rolled out. */
const AT_ONCE = 5_000;

/** And each second after that, from one worker: some 500 MB of events in the time they are kept. */
const EACH_SECOND = 200;

/**
 * Tells whether one more event of a log-in that was not accepted may be written. Anybody who
 * reaches port 4506 causes such events, and they lie in the stream that returns need.
 */
export function strangerAllowance(
  { atOnce = AT_ONCE, eachSecond = EACH_SECOND } = {},
  nowMs: () => number = () => performance.now(),
): () => boolean {
  let left = atOnce;
  let at = nowMs();
  return () => {
    const now = nowMs();
    left = Math.min(atOnce, left + ((now - at) / 1000) * eachSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
