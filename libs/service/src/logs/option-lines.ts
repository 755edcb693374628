import type { ConfigWarning } from '@brine/config';
import type { Log } from '@brine/telemetry';

/**
 * Writes one line for each option that is not in force, not needed, or unknown to Salt and Brine.
 * Only the first process of a master calls it: `brine master`, or a service that is started alone.
 */
export function logOptions(log: Log, warnings: readonly ConfigWarning[]): void {
  for (const { kind, text } of warnings) if (kind !== 'missing') log.warn(text);
}
