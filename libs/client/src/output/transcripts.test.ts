import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { mapOf, SaltFloat, type SaltValue } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import { displayOf, type DisplayOptions } from './display.ts';

interface Case {
  readonly name: string;
  readonly version: string;
  readonly argv: readonly string[];
  readonly stdout: string;
  readonly stderr: string;
  readonly files?: Readonly<Record<string, string>>;
}

const NESTED: SaltValue = mapOf({
  k1: mapOf({
    k2: mapOf({ k3: ['x', mapOf({ y: 1, z: [1, 2] }), ['deep', ['deeper']]] }),
  }),
  list_of_dicts: [mapOf({ name: 'n1', v: 1 }), mapOf({ name: 'n2', v: 2 })],
  empty: mapOf({ d: new Map(), l: [], s: '', n: null }),
  flag: true,
  multi: 'line 1\nline 2',
});

// What the lab's module returns (test/fixtures/transcripts/lab/srv/salt/_modules/lab.py).
const VALUES: ReadonlyMap<string, SaltValue> = new Map<string, SaltValue>([
  ['is_true', true],
  ['is_false', false],
  ['zero', 0],
  ['int', 42],
  ['negative', -7],
  ['float', 3.25],
  ['text', 'plain text'],
  ['empty', ''],
  ['lines', 'first line\nsecond line\n\nfourth line\n'],
  ['spaces', '  leading and trailing  '],
  ['tab', 'a\tb'],
  ['unicode', 'Grüße, 世界 ✓ – naïve'],
  ['emoji', 'ok \u{1f9c2}'],
  ['binary', new Uint8Array([0, 1, 0xfe, 0xff, 0x20, 0x62, 0x69, 0x6e])],
  ['asciibytes', 'plain bytes'],
  ['control', 'bell\x07 esc\x1b[31mred\x1b[0m end'],
  ['list', ['a', 'b', 3]],
  ['emptylist', []],
  ['emptydict', new Map()],
  ['dict', mapOf({ b: 1, a: 'x', c: null })],
  ['nested', NESTED],
  ['listoflists', [[1, 2], [3, [4, 5]], []]],
  [
    'intkeys',
    new Map<SaltValue, SaltValue>([
      [1, 'one'],
      [2, 'two'],
    ]),
  ],
  ['numeric_string', '0123'],
  ['word_yes', 'yes'],
  ['colon', 'a: b #c'],
  ['html', '<b>&amp;</b>'],
  [
    'tabledata',
    mapOf({
      r1: mapOf({ name: 'alpha', size: 10 }),
      r2: mapOf({ name: 'beta', size: 2000 }),
    }),
  ],
  ['tablelist', [mapOf({ name: 'alpha', size: 10 }), mapOf({ name: 'beta', size: 2000 })]],
]);

function load(file: string, line = '3008'): Case[] {
  const path = `../../../../test/fixtures/transcripts/${file}.json`;
  const text = readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8');
  return (JSON.parse(text) as Case[]).filter((entry) => entry.version.startsWith(line));
}

function returnOf(argv: readonly string[]): { ret: SaltValue; retcode: number } | undefined {
  const words = argv.filter((word) => !word.startsWith('-'));
  const at = words.findIndex((word) => /^[a-z]+\.[a-z_]+$/.test(word));
  const [fun, first] = words.slice(at);
  if (fun === 'test.ping') return { ret: true, retcode: 0 };
  if (fun === 'lab.none') return { ret: null, retcode: 0 };
  if (fun === 'no.such') return { ret: "'no.such' is not available.", retcode: 1 };
  if (fun === 'lab.retcode') return { ret: 'set', retcode: Number(first) };
  const value = fun === 'lab.value' ? VALUES.get(first ?? '') : undefined;
  return value === undefined ? undefined : { ret: value, retcode: 0 };
}

function optionsOf(argv: readonly string[]): DisplayOptions {
  const value = (name: string): string | undefined => {
    const joined = argv.find((word) => word.startsWith(`${name}=`));
    if (joined !== undefined) return joined.slice(name.length + 1);
    const at = argv.indexOf(name);
    return at < 0 ? undefined : argv[at + 1];
  };
  const output = value('--out');
  const indent = value('--out-indent');
  return {
    color: argv.includes('--force-color') || argv.includes('tty'),
    static: argv.includes('--static'),
    ...(output === undefined ? {} : { output }),
    ...(indent === undefined ? {} : { indent: Number(indent) }),
  };
}

// Each display is a group of lines; the order of minions is that of arrival.
function displays(text: string): string[] {
  return text
    .replace(/\n+$/, '')
    .split(/\n(?=(?:\x1b\[[0-9;]*m)?(?:\{|web|db))/)
    .sort();
}

// 3008 has no `quiet` and no `newline_values_only`. Here they work as up to 3007: see below.
const LEFT_OUT = /quiet|newline_values_only|nomatch|out-file|tty|verbose|args-missing/;

describe('the outputters print the recorded texts of the stock commands', () => {
  const cases = [...load('outputters'), ...load('returns')].filter(
    ({ name, argv }) => !LEFT_OUT.test(name) && returnOf(argv) !== undefined,
  );

  it.each(cases.map((entry) => [entry.name, entry] as const))('%s', (_name, entry) => {
    const answer = returnOf(entry.argv);
    const wanted = displays(entry.stdout);
    const ids = [...new Set(entry.stdout.match(/(?:web|db)\d\.example/g) ?? ['web1.example'])];
    const options = optionsOf(entry.argv);
    const { ret = null, retcode = 0 } = answer ?? {};
    if (options.static === true) {
      const all = new Map<SaltValue, SaltValue>(ids.map((id) => [id, ret]));
      const text = displayOf(all, '', options).text;
      expect(displays(text)).toEqual(wanted);
      return;
    }
    const errors: string[] = [];
    const texts = ids.map((id) => {
      const display = displayOf(new Map([[id, ret]]), '', options, retcode);
      errors.push(...display.errors);
      return display.text;
    });
    if (entry.stdout !== '') expect(texts.flatMap(displays).sort()).toEqual(wanted);
    const logged = entry.stderr.match(/^\[ERROR {3}\] .*/gm) ?? [];
    const mine = errors.map((line) => `[ERROR   ] ${line.split('\n')[0]}`);
    expect(mine.slice(0, logged.length)).toEqual(logged.slice(0, mine.length));
  });

  it('covers most of the recorded displays', () => {
    expect(cases.length).toBeGreaterThan(70);
  });
});

describe('outputters that 3008 no longer has print what 3006 printed', () => {
  const cases = load('outputters', '3006').filter(
    ({ name, argv }) => /quiet|newline_values_only/.test(name) && returnOf(argv) !== undefined,
  );

  it.each(cases.map((entry) => [entry.name, entry] as const))('%s', (_name, { argv, stdout }) => {
    const { ret = null, retcode = 0 } = returnOf(argv) ?? {};
    const display = displayOf(mapOf({ m: ret }), '', optionsOf(argv), retcode);
    const whole = display.text === '' ? '' : `${display.text}\n`;
    // Several minions printed the same: once for each.
    expect(stdout.split(whole || '\0').filter((rest) => rest !== '')).toEqual([]);
  });

  it('covers both', () => expect(cases.length).toBeGreaterThanOrEqual(3));
});

describe('values that no recording holds', () => {
  const raw = (ret: SaltValue): string =>
    displayOf(new Map([['m', ret]]), '', { color: false, output: 'raw' }).text;

  it('a float stays a float', () => {
    expect(raw(new SaltFloat(1))).toBe("{'m': 1.0}");
  });

  it('keys of several types are shown as text', () => {
    const mixed = new Map<SaltValue, SaltValue>([
      ['b', 1],
      [1, 2],
    ]);
    const { text } = displayOf(mixed, '', { color: false });
    expect(text).toBe('1:\n    2\nb:\n    1');
  });

  it('an outputter named by the return falls back to nested where it does not fit', () => {
    const display = displayOf(new Map([['m', 3.5]]), 'key', { color: false });
    expect(display).toEqual({ text: 'm:\n    3.5', errors: [] });
  });
});
