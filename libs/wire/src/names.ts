import { fieldError, needText, optionalText } from './load/fields.ts';
import { pyStr } from './text/python-text.ts';
import type { SaltMap, SaltValue } from './value.ts';
import { isMap } from './value.ts';

/**
 * The rules for fields of a load that name something: a minion, a function, a user, a tag. Names
 * become file names, subjects, headers, rows, labels, log lines and text on a terminal, so one
 * table checks them before any of that. Data (arguments, returns, metadata values) is not checked:
 * it is kept as it is.
 */

/** The allowed characters of a name. */
const SHAPES = {
  /** One line: no control character, no line end, no change of the writing direction. */
  line: /[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/u,
  /** Targets may be written over several lines. */
  lines: /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/u,
  /** File names may have any character that their file system allows. */
  path: /\0|\p{Surrogate}/u,
} as const;

interface Rule {
  readonly shape: keyof typeof SHAPES;
  /** Longest text, in bytes of UTF-8; for a list, of all its texts. */
  readonly bytes: number;
}

const line = (bytes: number): Rule => ({ shape: 'line', bytes });

/** Lists of targets name tens of thousands of minions, each with up to 255 bytes. */
const TARGET: Rule = { shape: 'lines', bytes: 16 * 1024 * 1024 };
/** Longest path of Linux. */
const PATH: Rule = { shape: 'path', bytes: 4096 };

const RULES: ReadonlyMap<SaltValue, Rule> = new Map<SaltValue, Rule>([
  ['id', line(255)],
  ['jid', line(128)],
  // Several functions in one text, each with its module.
  ['fun', line(64 * 1024)],
  ['tgt', TARGET],
  ['match', TARGET],
  ['tgt_type', line(64)],
  ['expr_form', line(64)],
  ['delimiter', line(64)],
  ['ret', line(1024)],
  ['user', line(512)],
  ['username', line(512)],
  ['eauth', line(128)],
  ['token', line(256)],
  ['key', line(256)],
  ['nonce', line(128)],
  ['enc_algo', line(64)],
  ['sig_algo', line(64)],
  // The log-in checks its length too (libs/master clear/auth.ts).
  ['pub', { shape: 'lines', bytes: 1024 * 1024 }],
  // A beacon puts the path of the file into it.
  ['tag', line(8192)],
  ['pretag', line(512)],
  ['query', line(64)],
  ['master_id', line(255)],
  ['saltenv', line(512)],
  ['pillarenv', line(512)],
  ['path', PATH],
  ['prefix', PATH],
  ['traceparent', line(256)],
  ['tracestate', line(512)],
  ['brine_request', line(64)],
]);

/** Names of fields, and of the entries in `metadata`. */
const KEY = line(255);

/** True if this text is valid for the field of that name. */
export function isName(field: string, text: string): boolean {
  const rule = RULES.get(field);
  return rule === undefined || isFit(rule, text);
}

/** The name under `key`; throws SALT_WIRE_FIELD. */
export function needName(map: SaltMap, key: string, load: string): string {
  return fit(needText(map, key, load), key, load);
}

/** The name under `key`, undefined when absent or nil; throws SALT_WIRE_FIELD. */
export function optionalName(map: SaltMap, key: string, load: string): string | undefined {
  const name = optionalText(map, key, load);
  return name === undefined ? undefined : fit(name, key, load);
}

function fit(name: string, key: string, load: string): string {
  const rule = RULES.get(key);
  if (rule !== undefined && !isFit(rule, name)) throw unfit(load, key, rule);
  return name;
}

/**
 * Checks all fields of a load that name something, and the names of the fields themselves. Does the
 * same for its `kwargs`, and checks the names in their `metadata`. Bytes are refused: they are not
 * UTF-8, so no name. Values of other types are left to the code that reads the field. Throws
 * WireError SALT_WIRE_FIELD.
 */
export function checkNames(load: SaltMap, what: string): void {
  checkFields(load, what);
  const kwargs = load.get('kwargs');
  if (!isMap(kwargs)) return;
  checkFields(kwargs, what);
  const metadata = kwargs.get('metadata');
  if (isMap(metadata)) for (const key of metadata.keys()) checkKey(key, what);
}

/**
 * Checks texts that become parameters of a query to the store. It accepts no NUL and no half of a
 * surrogate pair. Throws WireError SALT_WIRE_FIELD.
 */
export function checkQuestion(args: SaltMap, what: string): void {
  for (const [key, value] of args) {
    checkKey(key, what);
    const texts = Array.isArray(value) ? value : [value];
    if (texts.some((text) => typeof text === 'string' && SHAPES.path.test(text))) {
      throw fieldError(what, pyStr(key), 'text without NUL');
    }
  }
}

function checkFields(load: SaltMap, what: string): void {
  for (const [key, value] of load) {
    checkKey(key, what);
    const rule = RULES.get(key);
    if (rule !== undefined && !mayContain(rule, value)) throw unfit(what, pyStr(key), rule);
  }
}

function checkKey(key: SaltValue, what: string): void {
  if (key instanceof Uint8Array || (typeof key === 'string' && !isFit(KEY, key))) {
    throw unfit(what, 'the name of a field', KEY);
  }
}

function mayContain(rule: Rule, value: SaltValue): boolean {
  if (typeof value === 'string') return isFit(rule, value);
  if (value instanceof Uint8Array) return false;
  if (!Array.isArray(value)) return true;
  let bytes = 0;
  for (const item of value) {
    if (item instanceof Uint8Array) return false;
    if (typeof item !== 'string') continue;
    bytes += Buffer.byteLength(item, 'utf8');
    if (bytes > rule.bytes || SHAPES[rule.shape].test(item)) return false;
  }
  return true;
}

function isFit({ shape, bytes }: Rule, text: string): boolean {
  if (text.length > bytes || SHAPES[shape].test(text)) return false;
  // A unit of UTF-16 has three bytes at most, so most texts need no counting.
  return text.length * 3 <= bytes || Buffer.byteLength(text, 'utf8') <= bytes;
}

function unfit(what: string, key: string, { bytes }: Rule): Error {
  return fieldError(what, key, `text of at most ${bytes} bytes without control characters`);
}
