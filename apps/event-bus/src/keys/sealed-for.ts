import type { MasterOptions } from '@brine/config';

/** What a gateway may still deliver, and clocks that differ. */
const MARGIN_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

/**
 * How long the bytes of a sealed request are good for, in ms: `request_server_ttl` to both sides of
 * the master's time where it is set; else as long as session keys live as a rule, a day at least.
 */
export function sealedForMs(
  options: Pick<MasterOptions, 'requestServerTtl' | 'publishSession'>,
): number {
  const { requestServerTtl: ttl, publishSession } = options;
  if (ttl > 0) return 2 * ttl * 1000 + MARGIN_MS;
  return Math.max(publishSession * 1000, DAY_MS) + MARGIN_MS;
}
