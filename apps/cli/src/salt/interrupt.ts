import { EXIT } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

const BEFORE_EXIT_MS = 500;

/** The behaviour on Ctrl-C while a command waits. */
export interface Interrupt {
  /** Set once the job is published: the text then explains how to look it up. */
  jid: string | undefined;
  /** Printed too: the work that continues without this command. */
  text: string | undefined;
  /** Runs before the process ends, for half a second at most. */
  beforeExit: (() => Promise<void>) | undefined;
  dispose(): void;
}

/** Ends the process on SIGINT with Salt's text and on SIGTERM without one, both with 0. */
export function whenInterrupted(terminal: Terminal): Interrupt {
  const interrupt: Interrupt = {
    jid: undefined,
    text: undefined,
    beforeExit: undefined,
    dispose: () => {
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onTerminate);
    },
  };
  const onInterrupt = (): void => {
    terminal.err('\nExiting gracefully on Ctrl-c\n');
    if (interrupt.jid !== undefined) {
      terminal.err(
        `This job's jid is: ${interrupt.jid}\n` +
          'The minions may not have all finished running and any remaining minions will return ' +
          'upon completion. To look up the return data for this job later, run the following ' +
          `command:\n\nsalt-run jobs.lookup_jid ${interrupt.jid}\n`,
      );
    }
    if (interrupt.text !== undefined) terminal.err(interrupt.text);
    leave();
  };
  const onTerminate = (): void => leave();
  const leave = (): void => {
    const exit = (): void => {
      terminal.status?.('');
      process.exit(EXIT.ok);
    };
    setTimeout(exit, BEFORE_EXIT_MS);
    void (interrupt.beforeExit?.() ?? Promise.resolve()).then(exit, exit);
  };
  if (terminal.ownsSignals) {
    process.on('SIGINT', onInterrupt);
    process.on('SIGTERM', onTerminate);
  }
  return interrupt;
}
