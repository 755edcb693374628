import type { Zone } from '@brine/schedule';

const MINUTE_MS = 60_000;

/** The time zone of this process: `TZ`, or that of the host. */
export const LOCAL_ZONE: Zone = {
  offsetAt: (ms) => -new Date(ms).getTimezoneOffset() * MINUTE_MS,
};

/** Its name, such as `Europe/Berlin`. */
export function localZoneName(): string {
  return new Intl.DateTimeFormat('en').resolvedOptions().timeZone;
}
