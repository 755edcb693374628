import type { Log } from '@brine/telemetry';

/** Tells in the log of a message of a stream that a reader went on without (`onAside` of a bus). */
export function asideTeller(log: Pick<Log, 'error'>): (aside: object) => void {
  return (aside) => log.error(aside, 'a message can not be handled and was passed over');
}
