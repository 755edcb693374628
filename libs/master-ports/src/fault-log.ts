import { MasterUnavailableError, type RefusedWork } from '@brine/master';
import type { Log } from '@brine/telemetry';

/** Interval at which an ongoing outage is logged again, with the count of requests. */
const LOG_AGAIN_MS = 60_000;
/** Limit of different texts in one interval; there are a handful. */
const MAX_TEXTS = 100;

/**
 * Logs requests that could not be answered. An outage affects thousands of requests, so it is
 * logged once a minute and not per request.
 */
export function faultLog(
  log: Pick<Log, 'error' | 'warn'>,
): (err: unknown, request: { readonly id: string }) => void {
  const logged = new Map<string, { atMs: number; since: number }>();
  return (err, request) => {
    if (!(err instanceof MasterUnavailableError)) {
      log.error({ err, request: request.id }, 'could not answer a request');
      return;
    }
    const last = logged.get(err.message);
    const now = performance.now();
    if (last !== undefined && now - last.atMs < LOG_AGAIN_MS) {
      last.since += 1;
      return;
    }
    if (last === undefined && logged.size >= MAX_TEXTS) return;
    const requests = (last?.since ?? 0) + 1;
    logged.set(err.message, { atMs: now, since: 0 });
    const { message: reason, cause } = err;
    log.warn({ reason, err: cause, requests }, 'requests are left without an answer');
  };
}

/** Interval at which it is logged again, with the count of requests in between. */
const WORK_AGAIN_MS = 300_000;

/** Logs requests for too much work: the first at once, then one line in five minutes. */
export function refusedWorkLog(log: Pick<Log, 'warn'>): (refused: RefusedWork) => void {
  let loggedMs = Number.NEGATIVE_INFINITY;
  let since = 0;
  return (refused) => {
    since += 1;
    const now = performance.now();
    if (now - loggedMs < WORK_AGAIN_MS) return;
    log.warn({ ...refused, requests: since }, 'a request was refused: it takes too much work');
    loggedMs = now;
    since = 0;
  };
}
