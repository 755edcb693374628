import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { operatorEnvironment } from '@brine/environment';

/** Starts the module, not the program `salt-call`, which may be a link to Brine. */
const START =
  'import sys; from salt.scripts import salt_call; ' +
  'sys.argv[0] = "salt-call"; sys.exit(salt_call())';

/**
 * Runs the `salt-call` of an interpreter's Salt on this terminal. Returns its exit code; after a
 * signal 128 plus its number, as a shell does.
 * @param args all arguments after `salt-call`
 * @throws Error if there is no such interpreter
 */
export function runStockCall(python: string, args: readonly string[]): Promise<number> {
  const child = spawn(python, ['-c', START, ...args], {
    env: operatorEnvironment(process.env),
    stdio: 'inherit',
  });
  // The terminal sends Ctrl-C to both processes; a plain kill reaches only this one.
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
