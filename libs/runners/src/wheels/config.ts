import { isMap, type SaltMap } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { loadYaml, YamlEmitter, YamlWork } from '@brine/yaml';
import type { RunnerMaster, WheelFunction } from '../function.ts';
import { refusal } from '../given-values.ts';

/** The file of `config.apply`; its name puts it behind the others of its directory. */
const APPLIED = 'zz-config-apply.conf';
const FILE_MAX_BYTES = 1024 * 1024;

const WHERE = 'It is in force after a restart of the services, on the host of the worker only.';

const values: WheelFunction = {
  name: 'config.values',
  parameters: [],
  doc: 'Shows the whole configuration; secrets are masked, as brine config masks them.',
  run: (_given, master) => master.shownOptions,
};

const apply: WheelFunction = {
  name: 'config.apply',
  parameters: [['key'], ['value']],
  doc:
    `Sets one option in the file ${APPLIED} of default_include; the main file stays as it is. ` +
    `key: its name. value: its value. ${WHERE}`,
  async run({ named }, master) {
    const key = pyStr(named.get('key') ?? '');
    if (!/^[\w.-]{1,255}$/.test(key)) throw new Error(`no name of an option: ${key}`);
    const dir = includedDir(master);
    const bytes = await master.hostFiles.readBelow(dir, APPLIED, { maxBytes: FILE_MAX_BYTES });
    const text = bytes === undefined ? '' : Buffer.from(bytes).toString('utf8');
    const before = loadYaml(text, YamlWork.ofFile());
    if (before !== null && !isMap(before)) throw new Error(`${dir}/${APPLIED} has no options`);
    const next = new Map(before).set(key, named.get('value') ?? null);
    if ((await write(master, APPLIED, next)) === 'refused') {
      throw new Error(`${dir}/${APPLIED} is no plain file`);
    }
    return null;
  },
};

const updateConfig: WheelFunction = {
  name: 'config.update_config',
  parameters: [['file_name'], ['yaml_contents']],
  doc:
    'Writes options as <file_name>.conf into the directory of default_include. file_name: ' +
    `without a directory. yaml_contents: a map. ${WHERE}`,
  async run({ named }, master) {
    const name = `${pyStr(named.get('file_name') ?? '')}.conf`;
    const contents = named.get('yaml_contents') ?? null;
    if (name.includes('/') || name.includes('\0') || name.startsWith('.')) return 'Invalid path';
    if (!isMap(contents)) throw new Error('yaml_contents must be a dictionary');
    return (await write(master, name, contents)) === 'refused' ? 'Invalid path' : `Wrote ${name}`;
  },
};

async function write(master: RunnerMaster, name: string, contents: SaltMap) {
  const text = isTruthy(contents) ? new YamlEmitter().dump(contents) : '{}\n';
  if (Buffer.byteLength(text) > FILE_MAX_BYTES) {
    throw new Error(`${name} would have more than ${FILE_MAX_BYTES} bytes`);
  }
  // Options may be secrets: only the master's user may read the file.
  return master.hostFiles.writeBelow(includedDir(master), name, text, { dir: 0o755, file: 0o600 });
}

/** The directory of the files in `default_include`. */
function includedDir(master: RunnerMaster): string {
  const [configDir, pattern] = [master.option('config_dir'), master.option('default_include')];
  const [, dir] = /^(.+)\/[^/]*$/.exec(pyStr(pattern ?? '')) ?? [];
  if (typeof configDir !== 'string' || dir === undefined || /[*?[]|\.\./.test(dir)) {
    throw refusal('default_include names no directory that files could be written to.');
  }
  return dir.startsWith('/') ? dir : `${configDir}/${dir}`;
}

/** `config.*` (salt/wheel/config.py). */
export const CONFIG_WHEEL: readonly WheelFunction[] = [values, apply, updateConfig];
