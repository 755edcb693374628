// What Salt's loader takes and refuses, with which values and words: libyaml 0.2.5, PyYAML, and
// Salt's own constructors, in the newest release. The doors are `load` (a reactor map, the answers
// of programs), `sls` (pillars, states, reactions) and `conf` (the configuration).
import { join } from 'node:path';
import { ConfigError, type ConfigValue, parseConfigText } from '@brine/config';
import { type PillarOptions, type PillarPorts, RenderError, textRenderer } from '@brine/pillar';
import { drawn } from '@brine/testing/circle';
import { isMap, mapOf, SaltFloat, type SaltValue } from '@brine/wire';
import { pyRepr, pyStr } from '@brine/wire/text';
import { loadYaml, YamlLoadError, YamlWork } from '@brine/yaml';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { askSalt } from './target-oracle.ts';

const ORACLE = join(import.meta.dirname, 'yaml-oracle.py');
// The same texts each run: a difference must be found again.
const SEED = 20261128;
const TEXTS = 100_000;
/** The part of the texts that a change asks Salt for. */
const PART = 0.1;
/** Salt needs a millisecond for a text. */
const LIMIT_MS = 600_000;

const pieces = fc.constantFrom(
  ...['a', 'b', 'key', 'x y', 'é', '😀', '1', '0x1f', '010', '-010', '0b1', '1_000', '12:30'],
  ...['true', 'No', '~', 'null', '1.5', '1e3', '1.5e+3', '.inf', '2001-01-01', '=', '<<'],
  ...['b: ', 'a: ', 'c:', ': ', ':', '- ', '- ', '-', '? ', '?', 'k: v\n', 'k: v\n  ', '- x\n'],
  ...['\n', '\n', '\n', '\n ', '\n  ', '\n  ', '\n    ', '\r\n', ' ', ' ', '  ', '   ', '\t'],
  ...['[', ']', '{', '}', ',', ', ', '[a, b]', '{a: b}', '{a: 1, b: 2}', '{"a": 1,\n"b": [\n1]}'],
  ...["'", '"', "''", '""', "'it''s'", '"q\\tr"', '\\n', '\\x41', '\\q', '\\\n', "'x\ny'"],
  ...['|\n', '|', '>\n', '>', '|-\n', '>+\n', '|2\n', 'multi\n  line', '#c', ' #c', '@', '`', '%'],
  ...['&a ', '&b ', '*a', '*b ', '<<: ', '<<: *a\n', '<<: [*a, *b]\n'],
  ...['!!str ', '!!int ', '!!seq ', '!!map ', '!!set ', '!!binary ', '!!float ', '!!bool '],
  ...['!!pairs ', '!!omap ', '!!null ', '!!python/unicode ', '!x ', '! ', '!e!y '],
  ...['!<tag:yaml.org,2002:str> ', '---', '---\n', '\n---\n', '...', '...\n', '%YAML 1.1\n'],
  ...['%YAML 1.2\n---\n', '%TAG !e! tag:x,1:\n---\n', '%FOO\n', '\u2028', '\x85', '\ufeff', '\x07'],
);
const texts = fc.oneof(
  fc.array(pieces, { minLength: 1, maxLength: 4 }),
  fc.array(pieces, { minLength: 4, maxLength: 10 }),
  fc.array(pieces, { minLength: 10, maxLength: 24 }),
);

/** A value that names its type; a text and null are themselves. */
type Typed = string | null | readonly Typed[] | TypedOther;
interface TypedOther {
  readonly bool?: boolean;
  readonly int?: string;
  readonly float?: string;
  /** Hexadecimal digits. */
  readonly bytes?: string;
  readonly map?: readonly (readonly [key: Typed, value: Typed])[];
  readonly options?: Readonly<Record<string, Typed>>;
}

function typed(value: SaltValue): Typed {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return { bool: value };
  if (Array.isArray(value)) return value.map(typed);
  if (isMap(value)) return { map: [...value].map(([key, one]) => [typed(key), typed(one)]) };
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('hex') };
  const isFloat = value instanceof SaltFloat || !Number.isInteger(Number(value));
  return isFloat ? { float: pyRepr(value) } : { int: pyStr(value) };
}

/** As a configuration has it: names are texts, and a whole number has one type. */
function asOption(value: Typed): Typed {
  if (value === null || typeof value === 'string') return value;
  if (isList(value)) return value.map(asOption);
  const { map, int, float } = value;
  const number = Number(int ?? float);
  if (Number.isInteger(number)) return { int: String(number) };
  if (map === undefined) return value;
  return { options: Object.fromEntries(map.map(([key, one]) => [nameOf(key), asOption(one)])) };
}

function isList(value: Typed): value is readonly Typed[] {
  return Array.isArray(value);
}

/** A key as Python prints it. */
function nameOf(key: Typed): string {
  if (key === null || typeof key === 'string') return pyStr(key);
  if (isList(key)) throw new TypeError('a list is no key');
  const { bool, int, float, bytes = '' } = key;
  if (bool !== undefined) return pyStr(bool);
  return int ?? float ?? pyStr(new Uint8Array(Buffer.from(bytes, 'hex')));
}

function option(value: ConfigValue): Typed {
  if (Array.isArray(value)) return value.map(option);
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) {
    return asOption(typed(value));
  }
  return {
    options: Object.fromEntries(Object.entries(value).map(([key, one]) => [key, option(one)])),
  };
}

const OPTIONS = {
  opts: mapOf({}),
  renderer: 'jinja|yaml',
  rendererBlacklist: [],
  rendererWhitelist: [],
};
const rendered = textRenderer({} as PillarPorts, OPTIONS as unknown as PillarOptions, {
  id: 'm',
  grains: mapOf({}),
  saltenv: null,
  pillarenv: null,
  override: mapOf({}),
  ext: null,
});

const DOORS = ['load', 'sls', 'conf'] as const;
type Door = (typeof DOORS)[number];

const OURS: Readonly<Record<Door, (text: string) => Typed>> = {
  load: (text) => typed(loadYaml(text, YamlWork.ofFile())),
  sls: (text) => typed(rendered(text, { pipe: 'yaml' })),
  conf: (text) => option(parseConfigText(text, '/etc/salt/master').values),
};

function ours(door: Door, text: string): Answer {
  try {
    return { value: OURS[door](text) };
  } catch (error) {
    const isMeant = [YamlLoadError, RenderError, ConfigError].some((one) => error instanceof one);
    if (!isMeant) throw error;
    // Salt names the file in front of errors of YAML, and not where Python reads no number.
    const { message, cause } = error as Error;
    const isPythons = cause instanceof YamlLoadError && cause.fault === undefined;
    return { error: isPythons ? cause.message : message };
  }
}

interface Answer {
  readonly value?: Typed;
  readonly error?: string;
}

/** A set has no order in Python: where a text may have one, no list has. */
function comparable(answer: Answer, text: string): string {
  if (!text.includes('!!set')) return JSON.stringify(answer);
  return JSON.stringify(answer, (_key, value: unknown) => {
    const list = (value as { readonly set?: readonly unknown[] } | null)?.set ?? value;
    if (!Array.isArray(list)) return list;
    return list.map((one) => JSON.stringify(one)).sort();
  });
}

/** Where both refuse, and the words differ on purpose: the end of Salt's error, and the text. */
const MEANT: readonly (readonly [error: RegExp, text: RegExp])[] = [
  // PyYAML asks a list whether it starts with a zero.
  [/'list' object has no attribute 'startswith'$/, /!!int/],
  // Salt makes the nodes of a list or a map a value, and cannot send it.
  [/^a node is no value$|not <class 'list'>\.$/, /!!python\/unicode/],
  // Salt makes a list or a map that is in itself, and cannot send it.
  [/^maximum recursion depth exceeded/, /&/],
  // A set is a list here.
  [/not <class 'set'>\.$/, /!!set/],
];

let given: readonly string[];
let salt: readonly Readonly<Record<Door, Answer>>[];

beforeAll(async () => {
  const all = fc.sample(texts, { seed: SEED, numRuns: TEXTS }).map((parts) => parts.join(''));
  given = drawn('texts', all, TEXTS * PART, (text) => text);
  salt = (await askSalt(given, ORACLE)) as readonly Readonly<Record<Door, Answer>>[];
}, LIMIT_MS);

test.each(DOORS)('through the door %s, texts have the values and words of Salt', (door) => {
  let taken = 0;
  const differences = given.flatMap((text, at) => {
    const answer = salt[at]?.[door] ?? {};
    const mine = ours(door, text);
    if (Object.hasOwn(answer, 'value')) taken += 1;
    const isMeant = MEANT.some(([error, of]) => error.test(answer.error ?? '') && of.test(text));
    if (isMeant && mine.error !== undefined) return [];
    const theirs =
      door === 'conf' && answer.value !== undefined ? { value: asOption(answer.value) } : answer;
    return comparable(mine, text) === comparable(theirs, text)
      ? []
      : [{ text, salt: theirs, mine }];
  });
  process.stdout.write(`of ${given.length} texts Salt takes ${taken} through ${door}\n`);
  expect(differences.slice(0, 20)).toEqual([]);
});
