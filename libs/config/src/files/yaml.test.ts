import { describe, expect, test } from 'vitest';
import { ConfigError } from '../errors.ts';
import { parseConfigText } from './yaml.ts';

function parse(text: string) {
  return parseConfigText(text, '/etc/salt/master').values;
}

function valueOf(scalar: string) {
  return parse(`a: ${scalar}\n`)['a'];
}

describe('plain scalars are read as PyYAML and Salt read them', () => {
  test.each([
    ['yes', true],
    ['On', true],
    ['FALSE', false],
    ['off', false],
    ['y', 'y'],
    ['n', 'n'],
    ['~', null],
    ['null', null],
    ['', null],
    ['4505', 4505],
    ['-7', -7],
    ['1_000', 1000],
    ['0x1F', 31],
    ['0b101', 5],
    ['010', 10],
    ['00', 0],
    ['0', 0],
    ['-010', -8],
    ['08', '08'],
    ['0o17', '0o17'],
    ['12:30', 750],
    ['1:30:05', 5405],
    ['1.5', 1.5],
    ['1.0', 1],
    ['.5', 0.5],
    ['1e3', '1e3'],
    ['1.0e+3', 1000],
    ['1.5e3', '1.5e3'],
    ['.inf', Infinity],
    ['-.INF', -Infinity],
    ['1:30.5', 90.5],
    ['2026-11-20', '2026-11-20'],
    ['2026-11-20 17:10:37', '2026-11-20 17:10:37'],
    ["'yes'", 'yes'],
    ['"4505"', '4505'],
    ['10.0.0.1', '10.0.0.1'],
    ['::1', '::1'],
  ])('%s', (scalar, expected) => {
    expect(valueOf(scalar)).toEqual(expected);
  });

  test('.nan is no number', () => {
    expect(valueOf('.nan')).toBeNaN();
  });
});

describe('documents', () => {
  test('an empty file and one of comments have no values', () => {
    expect(parse('')).toEqual({});
    expect(parse('# nothing\n')).toEqual({});
  });

  test('what is false in Python has no values', () => {
    for (const text of ['[]', '{}', "''", '0', '0.0', 'no', '~']) expect(parse(text)).toEqual({});
  });

  test('a hundred lists in each other are read', () => {
    const lists = `${'['.repeat(100)}${']'.repeat(100)}`;
    expect(JSON.stringify(parse(`a: ${lists}\n`)['a'])).toBe(lists);
  });

  test('anchors and merge keys work', () => {
    const values = parse('base: &b\n  x: 1\n  y: 2\nmore:\n  <<: *b\n  y: 3\n');
    expect(values['more']).toEqual({ x: 1, y: 3 });
  });

  test('keys that are no texts become what Python prints', () => {
    expect(Object.keys(parse('2: a\nyes: b\n~: c\n'))).toEqual(['2', 'True', 'None']);
  });

  test('lines of keys are known, two levels deep and more', () => {
    const { lines } = parseConfigText('a: 1\n\nbrine:\n  trace:\n    ratio: 1\n', 'f');
    expect(lines.get('a')).toBe(1);
    expect(lines.get('brine.trace.ratio')).toBe(5);
  });
});

describe('broken files', () => {
  function errorOf(text: string): ConfigError {
    try {
      parse(text);
    } catch (error) {
      if (error instanceof ConfigError) return error;
      throw error;
    }
    throw new Error('nothing was thrown');
  }

  test('the error begins with the words of Salt and names the line', () => {
    const error = errorOf('a: 1\nb: [1, 2\nc: 3\n');
    expect(error.message).toMatch(/^Error parsing configuration file: \/etc\/salt\/master - /);
    expect(error.line).toBeGreaterThan(1);
  });

  test('a key that stands twice is an error', () => {
    expect(errorOf('a: 1\na: 2\n').line).toBe(2);
  });

  test('a file that is no map is refused as Salt refuses it', () => {
    expect(errorOf('- a\n- b\n').message).toBe(
      'Error parsing configuration file: /etc/salt/master - ' +
        "conf should be a document, not <class 'list'>.",
    );
    expect(errorOf('just words\n').message).toContain("not <class 'str'>.");
    expect(errorOf('12\n').message).toContain("not <class 'int'>.");
    expect(errorOf('1.0\n').message).toContain("not <class 'float'>.");
  });

  test('aliases that grow without end are refused', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i += 1) {
      const before = String.fromCharCode(96 + i);
      const name = String.fromCharCode(97 + i);
      bomb.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`);
    }
    expect(errorOf(`${bomb.join('\n')}\n`).code).toBe('CONFIG_PARSE');
  });

  test('nesting without end is refused', () => {
    expect(errorOf(`a: ${'['.repeat(600)}${']'.repeat(600)}\n`).code).toBe('CONFIG_PARSE');
  });
});
