import { spawnSync } from 'node:child_process';
import { childEnvironment } from '@brine/environment';
import { PyFunction, str } from '@brine/jinja';

const COMMAND_TIMEOUT_MS = 20_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/**
 * The functions of templates that use this host: they run commands, as on a stock master. Templates
 * may read only those variables of the environment that a command gets.
 */
export function hostFunctions(): Map<string, PyFunction> {
  const shell = new PyFunction('cmd.run', ({ positional: [command] }) => {
    const run = spawnSync('/bin/sh', ['-c', str(command)], {
      env: childEnvironment(process.env),
      timeout: COMMAND_TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    if (run.error !== undefined) throw run.error;
    return `${run.stdout.toString('utf8')}${run.stderr.toString('utf8')}`.trimEnd();
  });
  const environment = new PyFunction('environ.get', ({ positional: [name, otherwise = ''] }) => {
    const variables = new Map(Object.entries(childEnvironment(process.env)));
    return variables.get(str(name)) ?? otherwise;
  });
  return new Map([
    ['cmd.run', shell],
    ['cmd.shell', shell],
    ['environ.get', environment],
  ]);
}
