import { yamlArgument } from '@brine/client';
import { type SaltMap, type SaltValue, WireError } from '@brine/wire';
import { readJson } from '@brine/wire/text';
import { loadYaml, YamlLoadError, type YamlWork } from '@brine/yaml';
import { NetapiError } from '../errors.ts';

/** The body of a request. */
export interface Body {
  /** As a web hook passes it on. */
  readonly text: string;
  /** Undefined without a body. */
  readonly data: SaltValue | undefined;
}

/** Values and keys of a body in JSON, as a list of 250,000 minions: half a second to read. */
const VALUES_MAX = 300_000;

/** Form fields that are read at most; Python's parse_qsl has such a limit too. */
const FIELDS_MAX = 10_000;

const READERS: ReadonlyMap<string, (text: string, work: YamlWork) => SaltValue> = new Map([
  ['application/x-www-form-urlencoded', formOf],
  ['application/json', jsonOf],
  ['application/x-yaml', yamlOf],
  ['text/yaml', yamlOf],
  ['text/plain', plainOf],
]);

/** No body at all. */
export const NO_BODY: Body = { text: '', data: undefined };

/**
 * Reads a body by its type (salt/netapi/rest_cherrypy/app.py hypermedia_in).
 * @param work bounds the reading of YAML
 * @throws NetapiError 400 for a broken one, 406 for another type, 413 for too many values
 */
export function readBody(contentType: string | undefined, bytes: Uint8Array, work: YamlWork): Body {
  if (bytes.length === 0) return NO_BODY;
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const reader = READERS.get(type);
  if (reader === undefined) throw new NetapiError(406, 'Content type not supported');
  const text = Buffer.from(bytes).toString('utf8');
  return { text, data: reader(text, work) };
}

function jsonOf(text: string): SaltValue {
  try {
    return readJson(text, VALUES_MAX);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    refuseTooMany(cause);
    throw new NetapiError(400, 'Invalid JSON document', { cause });
  }
}

/** SaltGUI and others send JSON as plain text. */
function plainOf(text: string): SaltValue {
  try {
    return readJson(text, VALUES_MAX);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    refuseTooMany(cause);
    return text;
  }
}

function refuseTooMany(cause: WireError): void {
  if (cause.code !== 'SALT_WIRE_COST') return;
  throw new NetapiError(413, `A body has at most ${VALUES_MAX} values.`, { cause });
}

function yamlOf(text: string, work: YamlWork): SaltValue {
  return asYaml(() => loadYaml(text, work));
}

/** @throws NetapiError 400 for broken YAML, and for too much of it */
function asYaml<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof YamlLoadError)) throw cause;
    throw new NetapiError(400, 'Invalid YAML document', { cause });
  }
}

/** Repeated names become lists; `arg` and `kwarg` are read as YAML (urlencoded_processor). */
function formOf(text: string, work: YamlWork): SaltMap {
  const fields = new Map<SaltValue, SaltValue>();
  let count = 0;
  for (const [name, value] of new URLSearchParams(text)) {
    if (++count > FIELDS_MAX) throw new NetapiError(400, 'Max number of fields exceeded');
    // As Python's parse_qsl.
    if (value === '') continue;
    const before = fields.get(name);
    if (before === undefined) fields.set(name, value);
    else if (Array.isArray(before)) before.push(value);
    else fields.set(name, [before, value]);
  }
  const parsed = (one: SaltValue): SaltValue =>
    typeof one === 'string' ? asYaml(() => yamlArgument(one, work)) : one;
  const kwarg = fields.get('kwarg');
  if (kwarg !== undefined) fields.set('kwarg', parsed(kwarg));
  const arg = fields.get('arg');
  if (arg !== undefined) fields.set('arg', (Array.isArray(arg) ? arg : [arg]).map(parsed));
  return fields;
}
