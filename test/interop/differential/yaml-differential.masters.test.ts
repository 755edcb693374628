// What Salt's loader takes and refuses, with which values and words: libyaml 0.2.5, PyYAML, and
// Salt's own constructors, in the newest release.
import { join } from 'node:path';
import { drawn } from '@brine/testing/circle';
import { SaltFloat, type SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import { loadYaml, YamlLoadError, YamlWork } from '@brine/yaml';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { askSalt } from './target-oracle.ts';

const ORACLE = join(import.meta.dirname, 'yaml-oracle.py');
// The same texts each run: a difference must be found again.
const SEED = 20261128;
const TEXTS = 100_000;
/** The part of the texts that a change asks Salt for. */
const PART = 0.1;

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

function typed(value: SaltValue): unknown {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return { bool: value };
  if (Array.isArray(value)) return value.map(typed);
  if (value instanceof Map)
    return { map: [...value].map(([key, one]) => [typed(key), typed(one)]) };
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('hex') };
  const isFloat = value instanceof SaltFloat || !Number.isInteger(Number(value));
  return isFloat ? { float: pyRepr(value) } : { int: String(value) };
}

function ours(text: string): unknown {
  try {
    return { value: typed(loadYaml(text, YamlWork.ofFile())) };
  } catch (error) {
    if (error instanceof YamlLoadError) return { error: error.message };
    throw error;
  }
}

/** A set has no order in Python: where a text may have one, no list has. */
function comparable(answer: unknown, text: string): string {
  if (!text.includes('!!set')) return JSON.stringify(answer);
  return JSON.stringify(answer, (_key, value: unknown) => {
    const list = (value as { readonly set?: readonly unknown[] } | null)?.set ?? value;
    if (!Array.isArray(list)) return list;
    return list.map((one) => JSON.stringify(one)).sort();
  });
}

/** Differences on purpose, by Salt's error. */
const MEANT: readonly RegExp[] = [
  // PyYAML asks a list whether it starts with a zero. Both refuse.
  /^'list' object has no attribute 'startswith'$/,
];

test('texts are taken and refused as by Salt, with its values and words', async () => {
  const all = fc.sample(texts, { seed: SEED, numRuns: TEXTS }).map((parts) => parts.join(''));
  const given = drawn('texts', all, TEXTS * PART, (text) => text);
  const answers = await askSalt(given, ORACLE);
  const taken = answers.filter((answer) => Object.hasOwn(answer as object, 'value')).length;
  process.stdout.write(`of ${given.length} texts Salt takes ${taken}\n`);
  const differences = given.flatMap((text, at) => {
    const salt = answers[at] as { readonly error?: string };
    if (MEANT.some((one) => one.test(salt.error ?? ''))) return [];
    const mine = ours(text);
    return comparable(mine, text) === comparable(salt, text) ? [] : [{ text, salt, mine }];
  });
  expect(differences.slice(0, 20)).toEqual([]);
});
