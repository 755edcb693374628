import type { Bus } from '@brine/bus';
import type { LostReason } from '@brine/gateway';
import type { Log } from '@brine/telemetry';

/** The lines of the log when sealed requests are given up; once for each outage. */
export const LOST_TEXTS: Readonly<Record<LostReason, string>> = {
  old: 'giving up requests that could not be delivered for 120 s',
  full: 'giving up requests: too many wait to be delivered',
  share: 'giving up requests: too many of one minion wait to be delivered',
  stopped: 'giving up requests that are not delivered yet, to stop',
};

/** Logs the loss and the return of NATS, once each, with the numbers of waiting requests. */
export function logOutages(
  bus: Pick<Bus, 'onDisconnect' | 'onReconnect'>,
  log: Pick<Log, 'error' | 'info'>,
  pending: () => { readonly waiting: number; readonly kept: number },
): void {
  let sinceMs: number | undefined;
  bus.onDisconnect(() => {
    sinceMs = performance.now();
    log.error(pending(), 'NATS is unreachable: keeping returns, for up to 120 s each');
  });
  bus.onReconnect(() => {
    if (sinceMs === undefined) return;
    const seconds = Math.round(performance.now() - sinceMs) / 1000;
    sinceMs = undefined;
    log.info({ seconds, ...pending() }, 'NATS is back: delivering the kept returns');
  });
}
