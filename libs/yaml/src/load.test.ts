import { mapOf, SaltFloat, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { YamlLoadError } from './errors.ts';
import { loadSls, loadYaml, loadYamlFile } from './load.ts';
import { YamlWork, YamlWorkError } from './work.ts';

const load = (text: string): SaltValue => loadYaml(text, YamlWork.ofFile());

function refused(text: string): string {
  try {
    load(text);
  } catch (error) {
    if (error instanceof YamlLoadError) return error.message;
    throw error;
  }
  throw new Error(`${text} was taken`);
}

describe('what goes on at the column of its parent is taken', () => {
  test.each<[string, SaltValue]>([
    ["banner: 'Welcome!\n  '", mapOf({ banner: 'Welcome! ' })],
    ['a: "x\ny"', mapOf({ a: 'x y' })],
    ['policy: {"a": 1,\n"b": [\n1]}', mapOf({ policy: mapOf({ a: 1, b: [1] }) })],
    ['groups: {web: "web* or\n  db*"}', mapOf({ groups: mapOf({ web: 'web* or db*' }) })],
    ["a:\n  b: 'x\n\n  '", mapOf({ a: mapOf({ b: 'x\n' }) })],
    ['a:\n- b\n- c\nd: 1', mapOf({ a: ['b', 'c'], d: 1 })],
  ])('%j', (text, value) => {
    expect(load(text)).toEqual(value);
  });
});

describe('directives', () => {
  test.each<[string, SaltValue]>([
    ['%YAML 1.1\n---\na: 1', mapOf({ a: 1 })],
    ['%YAML 1.2 # newer\n---\na: 1\n...\n', mapOf({ a: 1 })],
    ['%TAG ! tag:yaml.org,2002:\n---\n!str 1', '1'],
    ['---\n', null],
  ])('%j', (text, value) => {
    expect(load(text)).toEqual(value);
  });
});

describe('merge keys', () => {
  test('go in front, in the order of PyYAML', () => {
    const text = 'a: &x {p: 1, q: 2}\nb: {z: 0, <<: *x, q: 3}';
    const b = (load(text) as Map<string, Map<string, number>>).get('b');
    expect([...(b ?? [])]).toEqual([
      ['p', 1],
      ['z', 0],
      ['q', 3],
    ]);
  });

  test('of a list come in its reverse order', () => {
    const text = 'x: &x {a: 1}\ny: &y {b: 2}\nm: {<<: [*x, *y]}';
    const m = (load(text) as Map<string, Map<string, number>>).get('m');
    expect([...(m?.keys() ?? [])]).toEqual(['b', 'a']);
  });

  test('of two maps with the same key are refused', () => {
    const text = 'x: &x {a: 1}\ny: &y {a: 2}\nm: {<<: [*x, *y]}';
    expect(() => load(text)).toThrow("found conflicting ID 'a'");
  });

  test('are told from own keys by how they are written', () => {
    const text = "x: &x {1: merged}\nm: {<<: *x, '1': own}";
    expect(load(text)).toHaveProperty('size', 2);
    expect((load(text) as Map<string, SaltValue>).get('m')).toEqual(mapOf({ '1': 'own' }));
  });

  test('of something else are refused', () => {
    expect(() => load('<<: 1')).toThrow('expected a mapping or list of mappings for merging');
    expect(() => load('<<: [1]')).toThrow('expected a mapping for merging, but found scalar');
  });
});

describe('errors have the words of PyYAML', () => {
  test.each([
    [
      'a: 1\nb: 2\na: 3',
      'while constructing a mapping\n  in "<unicode string>", line 1, column 1\n' +
        'found conflicting ID \'a\'\n  in "<unicode string>", line 3, column 1',
    ],
    [
      'a: b: c',
      'mapping values are not allowed in this context\n  in "<unicode string>", line 1, column 5',
    ],
    [
      'a:\n\t- b',
      'while scanning for the next token\nfound character that cannot start any token\n' +
        '  in "<unicode string>", line 2, column 1',
    ],
    [
      'a: [1, 2\nb: 3',
      'while parsing a flow sequence\n  in "<unicode string>", line 1, column 4\n' +
        "did not find expected ',' or ']'\n  in \"<unicode string>\", line 2, column 2",
    ],
    [
      "é😀: 'x",
      'while scanning a quoted scalar\n  in "<unicode string>", line 1, column 5\n' +
        'found unexpected end of stream\n  in "<unicode string>", line 1, column 7',
    ],
    [
      'a\x07',
      'unacceptable character #x0007: control characters are not allowed\n' +
        '  in "<unicode string>", position 1',
    ],
    [
      '\ufeffé: "\x7f"',
      'unacceptable character #x007f: control characters are not allowed\n' +
        '  in "<unicode string>", position 8',
    ],
    ['*nobody', 'found undefined alias\n  in "<unicode string>", line 1, column 1'],
    [
      '[a]: b',
      'while constructing a mapping\nfound unacceptable key ' +
        "[ScalarNode(tag='tag:yaml.org,2002:str', " +
        'value=\'a\')]\n  in "<unicode string>", line 1, column 1',
    ],
  ])('%j', (text, words) => {
    expect(refused(text)).toBe(words);
  });

  test('a key of many aliases of a long text is not shown', () => {
    const text = `? [&a "${'x'.repeat(100_000)}", ${'*a, '.repeat(10_000)}]`;
    expect(() => load(text)).toThrow(YamlWorkError);
  });

  test('bytes are no text', () => {
    expect(load('{!!binary aGk= : 1, "6869": 2}')).toHaveProperty('size', 2);
    expect(() => load('{!!binary aGk= : 1, !!binary aGk : 2}')).toThrow('conflicting ID');
  });

  test('a key twice on the outside is found before one within', () => {
    expect(() => load('a: {x: 1, x: 2}\nb: 1\nb: 2')).toThrow("conflicting ID 'b'");
  });

  test('keys that are one in Python are one', () => {
    const texts = ['1: a\n1.0: b', 'true: a\n1: b', '0: a\nno: b', '1: a\n0x1: b', 'a: 1\n"a": 2'];
    for (const text of texts) {
      expect(() => load(text), text).toThrow('found conflicting ID');
    }
  });
});

test('NEL, LS and PS are line ends, of which NEL becomes a space', () => {
  expect(load('a: x\x85  y\x85b: 1')).toEqual(mapOf({ a: 'x y', b: 1 }));
  expect(load('a: x\u2028  y')).toEqual(mapOf({ a: 'x\u2028y' }));
  expect(load('"\\x07\\x7f\\N"')).toBe('\x07\x7f\x85');
});

describe('tags', () => {
  test.each<[string, SaltValue]>([
    ['!!set {x, y}', ['x', 'y']],
    [
      '!!pairs [a: 1, a: 2]',
      [
        ['a', 1],
        ['a', 2],
      ],
    ],
    ['!!omap [a: 1]', [['a', 1]]],
    ['!!binary aGk', new Uint8Array([104, 105])],
    ['!!python/unicode x', 'x'],
    ['!!python/unicode []', []],
    ['!!float 1', new SaltFloat(1)],
    ['!!int "010"', 10],
    ['! 12', 12],
    ['!!null x', null],
  ])('%j', (text, value) => {
    expect(load(text)).toEqual(value);
  });

  test('a number of more digits than Python reads is refused, one that is tagged too', () => {
    const digits = '9'.repeat(4_301);
    const words =
      'Exceeds the limit (4300 digits) for integer string conversion: value has 4301 digits; ' +
      'use sys.set_int_max_str_digits() to increase the limit';
    expect(refused(digits)).toBe(words);
    expect(refused(`!!int "${digits}"`)).toBe(words);
    expect(() => load(`!!int "1${':1'.repeat(500_000)}"`)).toThrow('Exceeds the limit');
    expect(load(`${digits}.0`)).toBe(Infinity);
  });

  test('an ordered map in a file of states is a map', () => {
    expect(loadSls('!!omap {a: 1}', YamlWork.ofFile())).toEqual(mapOf({ a: 1 }));
    expect(() => loadSls('!!omap [a: 1]', YamlWork.ofFile())).toThrow('expected a mapping node');
  });
});

describe('what is deep or within itself', () => {
  test('a hundred levels are taken', () => {
    let value = load('['.repeat(100) + ']'.repeat(100));
    for (let level = 1; level < 100; level += 1) value = (value as SaltValue[])[0] ?? null;
    expect(value).toEqual([]);
  });

  test('a list or a map in itself is refused', () => {
    for (const text of ['&a [*a]', 'a: &a {b: *a}', 'a: &a {b: {<<: *a}}']) {
      expect(() => load(text), text).toThrow('found unconstructable recursive node');
    }
  });

  test('what else is wrong is told first', () => {
    expect(() => load('&a [*a')).toThrow("did not find expected ',' or ']'");
    expect(() => load('&a [*a, *b]')).toThrow('found undefined alias');
    expect(() => load('!!str &a {b: *a}')).toThrow('expected a scalar node, but found mapping');
  });

  test('a map that merges itself gains nothing', () => {
    expect(load('&a {<<: *a, b: 1}')).toEqual(mapOf({ b: 1 }));
    expect(load('&a {<<: [*a], b: 1}')).toEqual(mapOf({ b: 1 }));
  });
});

test('a file has the lines of its keys, and its name in errors', () => {
  const { lines } = loadYamlFile('a: 1\r\n\nb:\n  c:\n    d: 1\n', '/etc/salt/master');
  expect(Object.fromEntries(lines)).toEqual({ a: 1, b: 3, 'b.c': 4, 'b.c.d': 5 });
  expect(() => loadYamlFile('a: [', '/etc/salt/master')).toThrow('in "/etc/salt/master", line 2');
});
