import { mapOf, pack, SaltDatetime, SaltFloat, unpack, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import type { Plain } from './engine.ts';
import { plainMap, plainOf, saltMap, saltOf } from './plain.ts';

test('what the wire has becomes what JSON has', () => {
  const value = mapOf({
    text: 'ä',
    number: 1.5,
    float: new SaltFloat(2),
    big: 2n ** 60n,
    time: new SaltDatetime('20261125T080000.000000'),
    bytes: Buffer.from('text'),
    binary: Buffer.from([0xff, 0xfe]),
    none: null,
    list: [true, mapOf({ a: 1 })],
    nan: Number.NaN,
  });
  value.set(5, 'five').set('__proto__', 'no danger');
  expect(JSON.parse(JSON.stringify(plainMap(value)))).toEqual({
    text: 'ä',
    number: 1.5,
    float: 2,
    big: '1152921504606846976',
    none: null,
    5: 'five',
    time: '20261125T080000.000000',
    bytes: 'text',
    binary: '//4=',
    nan: 'NaN',
    list: [true, { a: 1 }],
    ['__proto__']: 'no danger',
  });
});

test('what an engine fires comes back the same', () => {
  const data = { a: [1, 'x', null, { b: false }], c: 1.5 };
  expect(plainOf(unpack(pack(saltMap(data))))).toEqual(data);
  expect(saltOf(Buffer.from([0xff]))).toEqual(Buffer.from([0xff]));
  expect(saltMap({ a: undefined, b: 1 })).toEqual(mapOf({ b: 1 }));
});

/** A list in a list, and so on. */
function nested(levels: number): Plain {
  let value: Plain = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

test('an event may nest as deep as the wire takes', () => {
  // The event's own map is one of the 512 levels.
  const data = { a: nested(511) };
  const packed = pack(saltMap(data));
  expect(plainMap(unpackMap(packed))).toEqual(data);
  expect(() => pack(saltMap({ a: nested(512) }))).toThrow('deeper than 512');
});

test('what can not be sent is refused', () => {
  expect(() => saltOf(() => 1)).toThrow(TypeError);
  expect(() => saltOf(nested(513))).toThrow(RangeError);
});
