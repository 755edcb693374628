import type { ConfigWarning } from '@brine/config';
import type { Log } from '@brine/telemetry';

/**
 * Writes one line for each option that is not in force or not needed, or that Salt and Brine do not
 * know. It is for the first process of a master: `brine master`, or a service that is started
 * alone.
 */
export function logOptions(log: Log, warnings: readonly ConfigWarning[]): void {
  for (const { kind, text } of warnings) if (kind !== 'missing') log.warn(text);
}
