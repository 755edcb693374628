import type { MasterOptions } from '@brine/config';
import type { Log } from '@brine/telemetry';

/**
 * Shows the address of the console on the terminal that started a master, with a code that is good
 * once. The code is in no log. Never throws: the master serves without it.
 */
export async function showConsole({ configDir }: MasterOptions, log: Log): Promise<void> {
  try {
    // Imported late: it loads 0MQ, which a supervisor needs for nothing else.
    const { runConsole } = await import('../commands/console.ts');
    const { ProcessTerminal } = await import('../terminal.ts');
    process.stdout.write('The console is at:\n');
    await runConsole(['-c', configDir], new ProcessTerminal());
  } catch (error) {
    log.warn({ err: error }, 'no code for the console was made: `brine console` makes one');
  }
}
