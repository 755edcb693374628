import type { Bus } from '@brine/bus';
import { reportStalled, type Stall } from '@brine/bus/rpc';
import type { Log } from '@brine/telemetry';

/** Logs that two workers were lost to one asker, and has a worker put it on record. */
export function logStall(
  bus: Bus,
  log: Pick<Log, 'error' | 'warn'>,
  source: string,
  { request, requests, workers }: Stall,
): void {
  const { id, class: cls, asker, peer } = request;
  // The askers of clear requests have no name here.
  const minion = cls === 'aes' && asker !== undefined ? { minion: asker } : {};
  const fields = { id, class: cls, ...minion, peer, requests, workers };
  log.error(fields, 'two workers stalled or died over a request: it is refused');
  reportStalled(bus, { class: cls, ...minion, source }).catch((err: unknown) => {
    log.warn({ err, id }, 'a request that workers were lost to is not on record');
  });
}
