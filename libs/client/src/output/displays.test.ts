import { readFileSync } from 'node:fs';
import { mapOf, type SaltMap, SaltTuple, type SaltValue, unpack } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import { displayOf, type DisplayOptions, jointOf } from './display.ts';

interface Recorded {
  /** The value as Salt packed it, hex. */
  readonly packed: string;
  /** By outputter and indentation: the text, or the error that Python raised. */
  readonly shown: Readonly<Record<string, string | { readonly err: string } | null>>;
}

// Random values, and what the outputters of Salt made of them (salt.output.*.output).
const RECORDED = JSON.parse(
  readFileSync(new URL('../../fixtures/displays.json', import.meta.url), 'utf8'),
) as Recorded[];

it('shows a tuple as Python does', () => {
  const shown = (data: SaltValue, output: string) =>
    displayOf(data, 'nested', { output, color: false }).text;
  const short = mapOf({ args: SaltTuple.from(['x']) });
  expect(shown(short, 'raw')).toBe("{'args': ('x',)}");
  expect(shown(short, 'pprint')).toBe("{'args': ('x',)}");
  expect(shown(short, 'txt')).toBe("args: ('x',)");
  expect(shown(short, 'nested')).toBe('args:\n    - x');
  const [a, b] = ['a'.repeat(45), 'b'.repeat(45)] as const;
  expect(shown(SaltTuple.from([a, b]), 'pprint')).toBe(`('${a}',\n '${b}')`);
  expect(shown(SaltTuple.from([[a, b]]), 'pprint')).toBe(`(['${a}',\n  '${b}'],)`);
});

describe('random values are shown as by Salt 3008.2', () => {
  const names = Object.keys(RECORDED[0]?.shown ?? {});

  it.each(names)('%s', (name) => {
    const [, output = '', indent] = /^([a-z_]+?)(-?\d+)?$/.exec(name) ?? [];
    for (const { packed, shown } of RECORDED) {
      const value = unpack(Buffer.from(packed, 'hex'));
      const options = { color: false, output };
      const display = displayOf(
        value,
        undefined,
        indent === undefined ? options : { ...options, indent: Number(indent) },
      );
      const wanted = shown[name];
      if (typeof wanted === 'object' && wanted !== null) expect(display.failed).toBe(true);
      else expect(display.text).toBe(wanted ?? '');
    }
  });

  it('parts of a map are together the map, by the outputters that join them', () => {
    const job = (n: number): SaltMap =>
      mapOf({ Function: 'test.echo', Arguments: [n, 'öl: #1'], StartTime: '2026, Nov' });
    const jobs = Array.from({ length: 6 }, (_, n) => [`2026112010000000000${n}`, job(n)] as const);
    const text = (options: DisplayOptions, some: typeof jobs): string =>
      displayOf(new Map<SaltValue, SaltValue>(some), undefined, options).text;
    const joined: string[] = [];
    for (const output of ['nested', 'yaml', 'json', 'raw', 'pprint', 'txt', 'quiet']) {
      for (const indent of [undefined, -1, 0, 2] as const) {
        const options = { color: true, output, ...(indent === undefined ? {} : { indent }) };
        const joint = jointOf(undefined, options);
        if (joint === undefined) continue;
        const parts = [jobs.slice(0, 2), jobs.slice(2, 5), jobs.slice(5)];
        const bodies = parts.map((part) => joint.body(text(options, part)));
        const whole = joint.open + bodies.join(joint.between) + joint.close;
        expect(whole).toBe(`${text(options, jobs)}\n`);
        joined.push(`${output} ${String(indent)}`);
      }
    }
    expect(joined).toEqual([
      ...['nested undefined', 'nested -1', 'nested 0', 'nested 2'],
      ...['yaml undefined', 'yaml 0', 'yaml 2'],
      ...['json undefined', 'json -1', 'json 0', 'json 2'],
    ]);
    expect(jointOf('json', { color: false })?.body('{}')).toBe('');
  });

  // The files of salt/output in 3008.2, and those that only 3006.26 has.
  const SHOWN = 'nested json yaml txt raw pprint highstate table key no_return'.split(' ');
  const OLDER = ['quiet', 'newline_values_only', 'profile'];
  const LEFT_OUT = ['progress', 'overstatestage', 'virt_query', 'dson', 'pony'];

  it.each([...SHOWN, ...OLDER])('has the outputter %s', (output) => {
    const { errors } = displayOf(mapOf({ a: mapOf({}) }), '', { color: false, output });
    expect(errors.filter((line) => line.startsWith('Invalid outputter'))).toEqual([]);
  });

  it.each(LEFT_OUT)('shows a result by nested, with a line, for %s', (output) => {
    expect(displayOf(mapOf({ a: 1 }), '', { color: false, output })).toEqual({
      text: 'a:\n    1',
      errors: [`Invalid outputter ${output} specified, fall back to nested`],
    });
  });

  it('covers enough values', () => {
    expect(RECORDED.length).toBeGreaterThan(40);
  });
});
