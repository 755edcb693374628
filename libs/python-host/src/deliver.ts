import { mapOf, type SaltMap } from '@brine/wire';
import type { PythonCalls } from './host.ts';

/**
 * Hands events (`{tag, data}`) to a returner of `event_return`.
 * @throws PythonCallError what went wrong; the returner may have stored some of them
 */
export async function deliverEvents(
  host: PythonCalls,
  returner: string,
  events: readonly SaltMap[],
): Promise<void> {
  await host.call('return', 'deliver', mapOf({ returner, events: [...events] }));
}
