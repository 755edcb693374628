import { mapOf, type SaltMap } from '@brine/wire';
import type { RunnerContext } from './function.ts';

/**
 * Fires an event `progress` of this run; `salt-run` shows it before the result. Resolves when it is
 * stored.
 */
export async function printProgress(
  { master, out }: Pick<RunnerContext, 'master' | 'out'>,
  data: SaltMap,
): Promise<void> {
  if (master !== undefined) {
    await master.fire(`salt/run/${master.call.jid}/progress`, data);
    return;
  }
  // A command line that runs the function itself fires no events.
  const message = data.get('message');
  if (typeof message === 'string') out(`${message}\n`);
}

/** Prints a message if `display_progress` is on. */
export async function printMessage(
  context: Pick<RunnerContext, 'master' | 'out'>,
  wanted: boolean,
  message: string,
): Promise<void> {
  if (wanted) await printProgress(context, mapOf({ message }));
}
