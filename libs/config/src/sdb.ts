import { execFileSync } from 'node:child_process';
import { operatorEnvironment } from '@brine/environment';
import { ConfigError } from './errors.ts';
import { type ConfigMap, type ConfigValue, isConfigMap, isList } from './option.ts';
import type { Origin } from './table.ts';

/** Values by the addresses of a configuration. The values are secrets. */
export type SdbValues = Readonly<Record<string, ConfigValue>>;

/** A configuration with addresses, and the means to read them. */
export interface SdbRequest {
  readonly values: ConfigMap;
  /** The file of the master, which Salt reads too, with profiles and modules. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly originOf: (path: string) => Origin;
}

/** Values that the supervisor has read, as JSON: the store may be unreachable later. */
export const SDB_VARIABLE = 'BRINE_SDB';

const SCHEME = 'sdb://';
/** Maximum of addresses in a configuration. */
const ADDRESSES_MAX = 200;
/** Below WatchdogSec of the unit: no keep-alive is sent while a reload waits for the store. */
const TIMEOUT_MS = 20_000;
const ANSWER_MAX_BYTES = 4 * 1024 * 1024;

/** Reads each address with the site's own Salt. */
const READER = `
import json, sys
import salt.config, salt.utils.sdb
asked = json.load(sys.stdin)
opts = salt.config.master_config(asked["file"])
found = {one: salt.utils.sdb.sdb_get(one, opts) for one in asked["addresses"]}
json.dump(found, sys.stdout)
`;

/**
 * Replaces addresses `sdb://<profile>/<key>`, anywhere in the values, by their values (Salt:
 * salt/config apply_sdb). The interpreter of `brine.python` reads them, once for each start of a
 * master.
 * @throws ConfigError without an interpreter, or if an address has no value
 */
export function resolveSdb(request: SdbRequest): { values: ConfigMap; sdb: SdbValues } {
  const { values, env } = request;
  const places = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) collect(value, name, places);
  if (places.size === 0) return { values, sdb: {} };
  const given = givenValues(env);
  const missing = [...places.keys()].filter((address) => !Object.hasOwn(given, address));
  const read = missing.length === 0 ? {} : readAddresses(missing, places, request);
  const sdb: Record<string, ConfigValue> = {};
  for (const [address, name] of places) {
    const value = read[address] ?? given[address] ?? null;
    if (value === null) throw refused(name, 'names nothing there', request.originOf);
    sdb[address] = value;
  }
  return { values: replaced(values, sdb) as ConfigMap, sdb };
}

/** Records the first option that contains an address. */
function collect(value: ConfigValue, name: string, places: Map<string, string>): void {
  if (typeof value === 'string') {
    if (value.startsWith(SCHEME) && !places.has(value)) places.set(value, name);
  } else if (isList(value)) for (const item of value) collect(item, name, places);
  else if (isConfigMap(value)) {
    for (const item of Object.values(value)) collect(item, name, places);
  }
}

function replaced(value: ConfigValue, sdb: SdbValues): ConfigValue {
  if (typeof value === 'string') return Object.hasOwn(sdb, value) ? (sdb[value] ?? null) : value;
  if (isList(value)) return value.map((item) => replaced(item, sdb));
  if (!isConfigMap(value)) return value;
  const out = Object.create(null) as Record<string, ConfigValue>;
  for (const [key, item] of Object.entries(value)) out[key] = replaced(item, sdb);
  return out;
}

function givenValues(env: SdbRequest['env']): SdbValues {
  const text = env[SDB_VARIABLE];
  return text === undefined || text === '' ? {} : (JSON.parse(text) as SdbValues);
}

function readAddresses(
  addresses: readonly string[],
  places: ReadonlyMap<string, string>,
  { values, file, env, originOf }: SdbRequest,
): SdbValues {
  const name = places.get(addresses[0] ?? '') ?? '';
  if (addresses.length > ADDRESSES_MAX) {
    throw refused(name, `is one of more than ${ADDRESSES_MAX} addresses`, originOf);
  }
  const { brine } = values;
  const python = isConfigMap(brine) ? brine['python'] : undefined;
  if (typeof python !== 'string' || python === '') {
    throw refused(name, 'can not be read: set brine.python to the interpreter of Salt', originOf);
  }
  try {
    const answer = execFileSync(python, ['-c', READER], {
      input: JSON.stringify({ file, addresses }),
      env: operatorEnvironment(env),
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: ANSWER_MAX_BYTES,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    return JSON.parse(answer) as SdbValues;
  } catch (cause) {
    throw refused(name, `can not be read by ${python}: ${lastLineOf(cause)}`, originOf);
  }
}

/** The message never shows an answer, which may be a secret. */
function refused(name: string, what: string, originOf: (path: string) => Origin): ConfigError {
  const { file, line } = originOf(name);
  const text = `Option '${name}' in ${file}, line ${line}, is an address of sdb that ${what}`;
  return new ConfigError('CONFIG_READ', text, { file, line });
}

function lastLineOf(error: unknown): string {
  const { stderr, code, signal } = error as {
    stderr?: unknown;
    code?: unknown;
    signal?: unknown;
  };
  const lines = typeof stderr === 'string' ? stderr.trim().split('\n') : [];
  const last = lines.at(-1)?.trim().slice(0, 300) ?? '';
  if (last !== '') return last;
  if (signal === 'SIGKILL') return `no answer within ${TIMEOUT_MS / 1000} s`;
  return typeof code === 'string' ? code : 'it failed';
}
