import { runMode } from '../run-mode.ts';
import { readRollingArguments, ROLLING_USAGE } from './arguments.ts';
import { drawRolling } from './draw-rolling.ts';
import { runRolling } from './run-rolling.ts';

/** Rolling restarts as asked for; prints the ledger, gives the exit code. */
export function rolling(args: readonly string[]): Promise<number> {
  const mode = {
    usage: ROLLING_USAGE,
    read: readRollingArguments,
    run: runRolling,
    draw: drawRolling,
  };
  return runMode(mode, args);
}
