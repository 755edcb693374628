import type { RefusedWork } from '@brine/master';
import type { Log } from '@brine/telemetry';

/** Told again after this long, with the count of requests in between. */
const TELL_AGAIN_MS = 300_000;

/** Tells who asks for too much work: the first one at once, then one line each five minutes. */
export function refusedWorkLog(log: Pick<Log, 'warn'>): (refused: RefusedWork) => void {
  let toldMs = Number.NEGATIVE_INFINITY;
  let since = 0;
  return (refused) => {
    since += 1;
    const now = performance.now();
    if (now - toldMs < TELL_AGAIN_MS) return;
    log.warn({ ...refused, requests: since }, 'a request was refused: it takes too much work');
    toldMs = now;
    since = 0;
  };
}
