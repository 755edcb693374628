import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { operatorEnvironment } from '@brine/environment';

/** By the module and not by the program beside it: a link of that name may lead to Brine. */
const START =
  'import sys; from salt.scripts import salt_call; ' +
  'sys.argv[0] = "salt-call"; sys.exit(salt_call())';

/**
 * Runs the `salt-call` of the Salt that an interpreter has, on this terminal. Gives its exit code;
 * as a shell does, 128 and the signal's number if a signal ended it.
 * @param args all words after `salt-call`
 * @throws Error if there is no such interpreter
 */
export function runStockCall(python: string, args: readonly string[]): Promise<number> {
  const child = spawn(python, ['-c', START, ...args], {
    env: operatorEnvironment(process.env),
    stdio: 'inherit',
  });
  // Ctrl-C reaches both by the terminal; a plain kill reaches this process only.
  const end = (): void => void child.kill('SIGTERM');
  process.once('SIGTERM', end);
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`brine.python: ${error.message}`)));
    child.once('exit', (code, signal) => {
      process.off('SIGTERM', end);
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
