import { spawnSync } from 'node:child_process';
import { childEnvironment } from '@brine/environment';
import type { SaltValue } from '@brine/wire';
import { readJson } from '@brine/wire/text';
import { loadYaml, YamlWork } from '@brine/yaml';
import { callArguments } from './call-arguments.ts';
import type { ExternalSettings } from './source-settings.ts';

const TIMEOUT_MS = 20_000;
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;

/**
 * The output of a command, as YAML or JSON; `%s` stands for the minion's id (Salt:
 * salt/pillar/cmd_yaml.py, cmd_json.py). Unreadable output is logged and gives no data.
 * @throws TypeError if the command is no text, or for arguments that Salt does not have
 * @throws Error for an id that a shell could read, or a command that cannot run
 */
export function readCommand(
  form: 'yaml' | 'json',
  id: string,
  args: SaltValue,
  settings: Pick<ExternalSettings, 'log'>,
): SaltValue {
  const command = callArguments(args, ['command']).get('command');
  if (typeof command !== 'string') throw new TypeError('the command must be a text');
  const output = run(command, id);
  try {
    return form === 'yaml' ? loadYaml(output, YamlWork.ofFile()) : readJson(output);
  } catch (error) {
    const text = (error as Error).message;
    settings.log('critical', `${form} data from '${command}' failed to parse: ${text}`);
    return new Map();
  }
}

function run(command: string, id: string): string {
  // Ids come from accepted keys. An id in a command line must not contain signs that a shell reads,
  // nor look like an option.
  if (command.includes('%s') && !/^[\w.@:][\w.@:-]*$/.test(id)) throw new Error('unsafe minion id');
  const done = spawnSync('/bin/sh', ['-c', command.replaceAll('%s', () => id)], {
    env: childEnvironment(process.env),
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (done.error !== undefined) {
    throw new Error('the command could not be run', { cause: done.error });
  }
  return done.stdout.toString('utf8').trim();
}
