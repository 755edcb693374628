import { mapOf, type SaltMap } from '@brine/wire';
import type { PythonCalls } from './host.ts';

/**
 * Passes events (`{tag, data}`) to a returner of `event_return`.
 * @throws PythonCallError with the fault; the returner may have stored some of the events
 */
export async function deliverEvents(
  host: PythonCalls,
  returner: string,
  events: readonly SaltMap[],
): Promise<void> {
  await host.call('return', 'deliver', mapOf({ returner, events: [...events] }));
}
