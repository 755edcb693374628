import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyValue } from '../../test/values.ts';
import { WireError } from '../errors.ts';
import { pack } from '../msgpack/encode.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf, SaltConstant, SaltDatetime, SaltFloat, SaltTuple } from '../value.ts';
import { fromJson, toJson } from './json.ts';
import { pyFloat, pyRepr } from './python-repr.ts';

function hasWideNumber(value: SaltValue): boolean {
  if (value instanceof SaltFloat || typeof value === 'bigint') return true;
  if (value instanceof SaltConstant) return hasWideNumber(value.value);
  if (Array.isArray(value)) return value.some(hasWideNumber);
  if (value instanceof Map) return [...value].flat().some(hasWideNumber);
  return false;
}

describe('a tuple', () => {
  it('has the repr of Python, and is a list otherwise', () => {
    expect(pyRepr(SaltTuple.from([]))).toBe('()');
    expect(pyRepr(SaltTuple.from(['a']))).toBe("('a',)");
    expect(pyRepr([SaltTuple.from([1, ['b']])])).toBe("[(1, ['b'])]");
    expect(pack(SaltTuple.from([1, 'b']))).toEqual(pack([1, 'b']));
    expect(toJson(SaltTuple.from([1, 'b'])).json).toBe('[1,"b"]');
  });
});

/** Integer-like keys move to the front in JavaScript objects; maps here compare without order. */
describe('toJson and fromJson', () => {
  it('give every value back, or say that they do not', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const { json, exact } = toJson(value);
        expect(exact).toBe(!hasWideNumber(value));
        if (exact) expect(fromJson(JSON.parse(json))).toEqual(value);
        else expect(() => JSON.parse(json) as unknown).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });

  it('write what jsonb can hold: no NUL, no lone surrogate, no NaN', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const { json } = toJson(value);
        expect(/\\u0000|\\u[dD][89abAB]/.test(json.replaceAll('\\\\', ''))).toBe(false);
      }),
      { numRuns: 300 },
    );
    const cases: readonly (readonly [SaltValue, string])[] = [
      ['a\0b', '{"$text":"YQBi"}'],
      ['\ud800', '{"$utf16":"ANg="}'],
      [Number.NaN, '{"$float":"nan"}'],
      [-Infinity, '{"$float":"-inf"}'],
      [Buffer.from([0xff]), '{"$bytes":"/w=="}'],
      [new SaltDatetime('x'), '{"$datetime":"x"}'],
      [new SaltConstant('N', null), '{"$const":["N",null]}'],
      [new Map<SaltValue, SaltValue>([[1, 'a']]), '{"$map":[[1,"a"]]}'],
      [mapOf({ $bytes: 'AA==' }), '{"$map":[["$bytes","AA=="]]}'],
      [mapOf({ 'a\0': 1 }), '{"$map":[[{"$text":"YQA="},1]]}'],
    ];
    for (const [value, json] of cases) {
      expect(toJson(value)).toEqual({ json, exact: true, plain: false });
      expect(fromJson(JSON.parse(json))).toEqual(value);
    }
  });

  it('write wide numbers as numbers, which Python and PostgreSQL read exactly', () => {
    expect(toJson(new SaltFloat(5))).toEqual({ json: '5.0', exact: false, plain: true });
    expect(toJson(2n ** 64n)).toEqual({ json: '18446744073709551616', exact: false, plain: true });
    expect(toJson(new SaltFloat(1e300))).toEqual({ json: '1e+300', exact: false, plain: true });
    expect(toJson(new SaltFloat(Number.NaN)).json).toBe('{"$float":"nan"}');
    expect(toJson([1, 1.5, 'é', null, true])).toEqual({
      json: '[1,1.5,"é",null,true]',
      exact: true,
      plain: true,
    });
  });

  it('leave maps alone that only look like escape forms', () => {
    for (const text of [
      '{"$bytes":1}',
      '{"$float":"x"}',
      '{"$map":1}',
      '{"$map":[[1]]}',
      '{"$const":["a"]}',
      '{"$const":[1,2]}',
      '{"$bytes":"AA==","x":1}',
      '{"$none":1}',
    ]) {
      const value = fromJson(JSON.parse(text));
      expect(value).toBeInstanceOf(Map);
      expect(fromJson(JSON.parse(toJson(value).json))).toEqual(value);
    }
  });

  it('take __proto__ for a key like any other', () => {
    const value = fromJson(JSON.parse('{"__proto__":{"a":1}}')) as SaltMap;
    expect(value.get('__proto__')).toEqual(mapOf({ a: 1 }));
    expect(toJson(value).json).toBe('{"__proto__":{"a":1}}');
  });

  it('refuse nesting without end and what JSON cannot hold', () => {
    const deep: SaltValue[] = [];
    deep.push(deep);
    expect(() => toJson(deep)).toThrow(WireError);
    expect(() => fromJson(JSON.parse('['.repeat(3000) + ']'.repeat(3000)))).toThrow(WireError);
    for (const foreign of [undefined, () => 1, Symbol('x'), 1n]) {
      expect(() => fromJson(foreign)).toThrow(WireError);
    }
    expect(() => toJson({} as unknown as SaltValue)).toThrow(WireError);
  });
});

describe('pyRepr', () => {
  const cases: readonly (readonly [SaltValue, string])[] = [
    [null, 'None'],
    [[true, false], '[True, False]'],
    [[1, -1, 2n ** 70n], '[1, -1, 1180591620717411303424]'],
    ['', "''"],
    ['a', "'a'"],
    ["it's", '"it\'s"'],
    ['a"b', "'a\"b'"],
    ['\'"', "'\\'\"'"],
    ['a\\b\n\r\t\0\x7f', "'a\\\\b\\n\\r\\t\\x00\\x7f'"],
    ['é ж 漢 😀', "'é ж 漢 😀'"],
    ['\u00a0\u00ad\u200b\u2028\ufeff', "'\\xa0\\xad\\u200b\\u2028\\ufeff'"],
    ['\ue000\u{f0000}', "'\\ue000\\U000f0000'"],
    [Buffer.from("a\n\xff'", 'latin1'), 'b"a\\n\\xff\'"'],
    [Buffer.from('"\'\\', 'latin1'), "b'\"\\'\\\\'"],
    [new SaltFloat(1), '1.0'],
    [[], '[]'],
    [new Map(), '{}'],
    [mapOf({ a: 1, b: [null] }), "{'a': 1, 'b': [None]}"],
    [new Map<SaltValue, SaltValue>([[1, new SaltFloat(0)]]), '{1: 0.0}'],
    [
      new SaltDatetime('20261120T17:10:37.123456'),
      'datetime.datetime(2026, 11, 20, 17, 10, 37, 123456)',
    ],
    [new SaltDatetime('20261120T17:10:00.000000'), 'datetime.datetime(2026, 11, 20, 17, 10)'],
    [new SaltDatetime('20261120T17:10:07.5'), 'datetime.datetime(2026, 11, 20, 17, 10, 7, 500000)'],
    [new SaltDatetime('odd'), "'odd'"],
  ];

  it.each(cases)('%# writes what Python writes', (value, text) => {
    expect(pyRepr(value)).toBe(text);
  });

  it.each([
    [0.1, '0.1'],
    [-0, '-0.0'],
    [0, '0.0'],
    [1e15, '1000000000000000.0'],
    [1e16, '1e+16'],
    [123456789012345680, '1.2345678901234568e+17'],
    [0.0001, '0.0001'],
    [0.00012345, '0.00012345'],
    [0.00001, '1e-05'],
    [1.5e-7, '1.5e-07'],
    [1e100, '1e+100'],
    [5e-324, '5e-324'],
    [Number.NaN, 'nan'],
    [Infinity, 'inf'],
    [-Infinity, '-inf'],
  ])('writes the float %d as %s', (value, text) => {
    expect(pyFloat(value)).toBe(text);
  });
});
