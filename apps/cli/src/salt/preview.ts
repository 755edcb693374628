import type { Command, LocalClient } from '@brine/client';
import { listOf } from '@brine/wire';
import { EXIT } from '../exit-codes.ts';
import type { Printer } from '../printer.ts';
import type { Terminal } from '../terminal.ts';

/**
 * The accepted minions that a command is expected to reach. The workers match its target against
 * their data of minions, as for a publish.
 * @throws RefusedError if the caller may not run the command there
 */
export async function targetedMinions(command: Command, client: LocalClient): Promise<string[]> {
  const reply = await client.order('brine_resolve', command);
  return (listOf(reply, 'minions') ?? []).filter((id) => typeof id === 'string');
}

/** `--preview-target`: the ids that match, without running anything. */
export async function previewTarget(
  command: Command,
  client: LocalClient,
  printer: Printer,
  terminal: Terminal,
): Promise<number> {
  const minions = (await targetedMinions(command, client)).sort();
  printer.show(minions, 'nested');
  if (minions.length > 0) return EXIT.ok;
  terminal.err('ERROR: No return received\n');
  return EXIT.noReturn;
}
