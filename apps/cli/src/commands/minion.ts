import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { keepInspectorShut } from '@brine/service';
import { programOf } from '@brine/service/processes';
import { EXIT, Exit } from '../exit-codes.ts';
import { flag, textValue } from '../options/command-form.ts';
import { BASE_OPTIONS, loggingGroup, SALT_VERSION } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { type Terminal, warnIneffective } from '../terminal.ts';

/** The path of the minion's program. */
export function minionProgram(): string {
  const path = programOf(fileURLToPath(new URL('../../../', import.meta.url)), 'minion');
  if (existsSync(path)) return path;
  throw new Exit(EXIT.generic, `The minion is not built (${path}): run npm run build first\n`);
}

/** `salt-minion`: runs the minion in the foreground until it ends or gets a signal. */
export async function runMinion(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser({
    prog: 'salt-minion',
    usage: '[options]',
    description: 'Runs a minion in the foreground.',
    version: SALT_VERSION,
    groups: [
      {
        title: 'Options',
        options: [...BASE_OPTIONS, flag(['-d', '--daemon'], 'daemon', 'Refused: use a service.')],
      },
      loggingGroup(true),
    ],
  });
  const options = parser.parse(args);
  warnIneffective(terminal, options);
  if (options.values.get('daemon') === true) {
    throw parser.error('-d is not in this version: let the service manager run it');
  }
  const passed: string[] = [];
  const configDir = textValue(options, 'config_dir');
  const logLevel = textValue(options, 'log_level');
  if (configDir !== undefined) passed.push('-c', configDir);
  if (logLevel !== undefined) passed.push('-l', logLevel);
  keepInspectorShut();
  const child = fork(minionProgram(), passed, { stdio: 'inherit' });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGINT', forward);
  process.on('SIGTERM', forward);
  process.on('SIGUSR1', forward);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 0)));
  });
}
