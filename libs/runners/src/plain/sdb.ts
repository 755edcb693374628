import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { loadYaml, YamlWork } from '@brine/yaml';
import { masterOf, type RunnerFunction, type RunnerMaster } from '../function.ts';
import { refusal } from '../given-values.ts';
import { traverse } from './traverse.ts';

const SCHEME = 'sdb://';
const FILE_MAX_BYTES = 4 * 1024 * 1024;
const HASH_CHARS = 'abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)';

/** Environment variables with secrets of the services themselves. */
const OWN_VARIABLES = /^(?:BRINE_|NATS_|PG|DATABASE_URL$)/;

/** The profile and the key of an address; undefined for another text. */
interface Asked {
  readonly profile: SaltMap;
  readonly driver: string;
  readonly key: string;
}

function askedOf(uri: SaltValue, master: RunnerMaster): Asked | undefined {
  if (typeof uri !== 'string' || !uri.startsWith(SCHEME)) return undefined;
  const [, name = '', key = ''] = /^([^/]*)\/(.*)$/s.exec(uri.slice(SCHEME.length)) ?? [];
  const profile = master.option(name);
  if (key === '' || !isMap(profile) || !profile.has('driver')) return undefined;
  return { profile, driver: pyStr(profile.get('driver') ?? ''), key };
}

/**
 * The value of an address `sdb://<profile>/<key>`; any other value is returned unchanged
 * (salt/utils/sdb.py). @throws RefusedError for an unsupported driver
 */
export async function sdbGet(uri: SaltValue, master: RunnerMaster): Promise<SaltValue> {
  const asked = askedOf(uri, master);
  if (asked === undefined) return uri;
  const { driver, key, profile } = asked;
  if (driver === 'env') {
    return OWN_VARIABLES.test(key) ? null : (master.hostFiles.environment(key) ?? null);
  }
  if (driver !== 'yaml') throw notServed(driver);
  return traverse(await readFiles(profile, master), key.split(':')) ?? null;
}

/** The files of a profile; later ones override earlier ones. */
async function readFiles(profile: SaltMap, { hostFiles }: RunnerMaster): Promise<SaltValue> {
  if (isTruthy(profile.get('gpg'))) throw refusal('sdb driver yaml: gpg is not served.');
  const merge = profile.get('merge') ?? null;
  const strategy = isMap(merge) ? (merge.get('strategy') ?? 'smart') : 'smart';
  const lists = isMap(merge) && isTruthy(merge.get('merge_lists'));
  if ((strategy !== 'smart' && strategy !== 'recurse') || lists) {
    throw refusal('sdb driver yaml: only the merge strategy recurse, without lists, is served.');
  }
  const files = profile.get('files');
  let found: SaltMap = new Map();
  for (const file of Array.isArray(files) ? files : []) {
    const bytes = await hostFiles.readBounded(pyStr(file), FILE_MAX_BYTES);
    if (bytes === undefined) throw new Error(`sdb: File '${pyStr(file)}' not found`);
    const value = loadYaml(Buffer.from(bytes).toString('utf8'), YamlWork.ofFile());
    if (!isMap(value)) throw new Error(`sdb: ${pyStr(file)} has no map`);
    found = merged(found, value);
  }
  return found;
}

function merged(below: SaltMap, above: SaltMap): SaltMap {
  const found = new Map(below);
  for (const [key, value] of above) {
    const before = found.get(key);
    found.set(key, isMap(before) && isMap(value) ? merged(before, value) : value);
  }
  return found;
}

function notServed(driver: string): Error {
  return refusal(`The sdb driver ${driver} is not served; env and yaml are, for reading.`);
}

/** A cluster of processes can write neither of the two supported drivers. */
function refuseWrite({ driver }: Asked): never {
  if (driver === 'yaml') throw refusal('The sdb driver yaml is read only: edit its files.');
  if (driver !== 'env') throw notServed(driver);
  throw refusal('The sdb driver env is read only: each worker has an environment of its own.');
}

const ABOUT = 'uri: sdb://<profile>/<key>; the profile is an option with driver env or yaml.';

const get: RunnerFunction = {
  name: 'sdb.get',
  parameters: [['uri']],
  doc: `Shows a value of a store that the configuration names. ${ABOUT}`,
  run: async ({ named }, context) => ({
    value: await sdbGet(named.get('uri') ?? null, masterOf(context)),
  }),
};

function writing(name: string, parameters: RunnerFunction['parameters']): RunnerFunction {
  return {
    name,
    parameters,
    doc: `False for what is no address; the drivers that are served are read only. ${ABOUT}`,
    async run({ named }, context) {
      const asked = askedOf(named.get('uri') ?? null, masterOf(context));
      return asked === undefined ? { value: false } : refuseWrite(asked);
    },
  };
}

const getOrSetHash: RunnerFunction = {
  name: 'sdb.get_or_set_hash',
  parameters: [['uri'], ['length', 8], ['chars', HASH_CHARS]],
  doc:
    `Shows a value that is there; none can be made, since the stores are read only. ${ABOUT} ` +
    'length, chars: accepted as in Salt.',
  async run({ named }, context) {
    const [uri, master] = [named.get('uri') ?? null, masterOf(context)];
    const asked = askedOf(uri, master);
    if (typeof uri !== 'string' || !uri.startsWith(SCHEME)) return { value: false };
    const found = await sdbGet(uri, master);
    return asked !== undefined && found === null ? refuseWrite(asked) : { value: found };
  },
};

/** `sdb.*` of `salt-run` (salt/runners/sdb.py). */
export const SDB_RUNNER: readonly RunnerFunction[] = [
  get,
  writing('sdb.set', [['uri'], ['value']]),
  writing('sdb.delete', [['uri']]),
  getOrSetHash,
];
