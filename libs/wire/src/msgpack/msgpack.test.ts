import { Decoder as ReferenceDecoder, Encoder as ReferenceEncoder } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyValue } from '../../test/values.ts';
import { WireError } from '../errors.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf, SaltConstant, SaltDatetime, SaltFloat } from '../value.ts';
import { unpack } from './decode.ts';
import { pack } from './encode.ts';

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof WireError) return error.code;
    throw error;
  }
  return undefined;
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('round trip', () => {
  it('gives every value back, packed for the wire or for files', () => {
    fc.assert(
      fc.property(anyValue, fc.constantFrom('raw' as const, 'bin' as const), (value, mode) => {
        const packed = pack(value, mode);
        expect(unpack(packed)).toEqual(value);
        expect(pack(unpack(packed), mode)).toEqual(packed);
      }),
      { numRuns: 300 },
    );
  });

  it('ends with one condition when any number of bytes is missing', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const packed = pack(value, 'bin');
        for (let length = 0; length < packed.length; length += 1) {
          // A constant holds a message of its own, which is what is cut then.
          expect(codeOf(() => unpack(packed.subarray(0, length)))).toBe('SALT_WIRE_TRUNCATED');
        }
        const longer = Buffer.concat([packed, Buffer.from([0xc0])]);
        expect(codeOf(() => unpack(longer))).toBe('SALT_WIRE_TRAILING');
      }),
      { numRuns: 60 },
    );
  });

  it('reads any bytes at all to a value or a typed error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        let value: SaltValue;
        try {
          value = unpack(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
          return;
        }
        expect(unpack(pack(value, 'bin'))).toEqual(value);
      }),
      { numRuns: 3000 },
    );
  });
});

/** Our values in the reference library's notation. */
function asReference(value: SaltValue): unknown {
  if (value instanceof SaltFloat) return value.value;
  if (typeof value === 'number' && Number.isInteger(value)) {
    return Math.abs(value) > 0xffffffff || value < -0x80000000 ? BigInt(value) : value;
  }
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(asReference);
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, item]) => [key, asReference(item)]));
  }
  return value;
}

/** The reference library gives Buffers for Buffers; here all bytes are Uint8Array. */
function asPlainBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(asPlainBytes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asPlainBytes(item)]));
}

describe('@msgpack/msgpack as a second implementation', () => {
  // It turns maps into objects and knows no constants: keys are text, and none is __proto__.
  const common = anyValue.filter(isCommon);

  function isCommon(value: SaltValue): boolean {
    if (value instanceof SaltDatetime || value instanceof SaltConstant) return false;
    if (Array.isArray(value)) return value.every(isCommon);
    if (!(value instanceof Map)) return true;
    return [...value].every(
      ([key, item]) => typeof key === 'string' && key !== '__proto__' && isCommon(item),
    );
  }

  it('reads what we pack', () => {
    const decoder = new ReferenceDecoder({ useBigInt64: true });
    fc.assert(
      fc.property(common, (value) => {
        expect(asPlainBytes(decoder.decode(pack(value, 'bin')))).toEqual(asReference(value));
      }),
      { numRuns: 200 },
    );
  });

  it('packs what we read, to the same value', () => {
    const encoder = new ReferenceEncoder({ useBigInt64: true });
    fc.assert(
      fc.property(common.filter(hasNoFloat), (value) => {
        expect(unpack(encoder.encode(asReference(value)))).toEqual(value);
      }),
      { numRuns: 200 },
    );
  });

  // It writes 1.0 as the integer 1, which is the very thing that SaltFloat is there against.
  function hasNoFloat(value: SaltValue): boolean {
    if (value instanceof SaltFloat) return false;
    if (Array.isArray(value)) return value.every(hasNoFloat);
    return !(value instanceof Map) || [...value.values()].every(hasNoFloat);
  }
});

describe('packing as Salt does', () => {
  const cases: readonly (readonly [string, SaltValue, string, string])[] = [
    ['nil', null, 'c0', 'c0'],
    ['booleans', [true, false], '92c3c2', '92c3c2'],
    ['0', 0, '00', '00'],
    ['127', 127, '7f', '7f'],
    ['128', 128, 'cc80', 'cc80'],
    ['256', 256, 'cd0100', 'cd0100'],
    ['65536', 65_536, 'ce00010000', 'ce00010000'],
    ['2^32', 2 ** 32, 'cf0000000100000000', 'cf0000000100000000'],
    ['2^64-1', 2n ** 64n - 1n, 'cfffffffffffffffff', 'cfffffffffffffffff'],
    ['-1', -1, 'ff', 'ff'],
    ['-33', -33, 'd0df', 'd0df'],
    ['-129', -129, 'd1ff7f', 'd1ff7f'],
    ['-32769', -32_769, 'd2ffff7fff', 'd2ffff7fff'],
    ['-2^63', -(2n ** 63n), 'd38000000000000000', 'd38000000000000000'],
    ['small bigint', 5n, '05', '05'],
    ['2^64 as text', 2n ** 64n, 'b43138343436373434303733373039353531363136', 'b4'],
    ['1.5', 1.5, 'cb3ff8000000000000', 'cb3ff8000000000000'],
    ['1.0', new SaltFloat(1), 'cb3ff0000000000000', 'cb3ff0000000000000'],
    ['2^60 as number', 2 ** 60, 'cb43b0000000000000', 'cb43b0000000000000'],
    ['short text', 'é', 'a2c3a9', 'a2c3a9'],
    ['bytes', Buffer.from([0xff]), 'a1ff', 'c401ff'],
  ];

  it.each(cases)('%s', (_name, value, raw, bin) => {
    expect(pack(value).toString('hex')).toBe(raw);
    expect(pack(value, 'bin').toString('hex').startsWith(bin)).toBe(true);
  });

  it('uses no str8 and no bin on the wire', () => {
    expect(pack('x'.repeat(31)).subarray(0, 1).toString('hex')).toBe('bf');
    expect(pack('x'.repeat(32)).subarray(0, 3).toString('hex')).toBe('da0020');
    expect(pack('x'.repeat(32), 'bin').subarray(0, 2).toString('hex')).toBe('d920');
    expect(pack('x'.repeat(256), 'bin').subarray(0, 3).toString('hex')).toBe('da0100');
    expect(pack('x'.repeat(65_536)).subarray(0, 5).toString('hex')).toBe('db00010000');
    expect(pack(Buffer.alloc(65_536)).subarray(0, 5).toString('hex')).toBe('db00010000');
    expect(pack(Buffer.alloc(256), 'bin').subarray(0, 3).toString('hex')).toBe('c50100');
    expect(pack(Buffer.alloc(65_536), 'bin').subarray(0, 5).toString('hex')).toBe('c600010000');
  });

  it('uses each header of lists and maps at its size', () => {
    for (const [count, list, map] of [
      [15, '9f', '8f'],
      [16, 'dc0010', 'de0010'],
      [65_535, 'dcffff', 'deffff'],
      [65_536, 'dd00010000', 'df00010000'],
    ] as const) {
      const values = Array.from({ length: count }, (_, index) => index);
      const packedList = pack(values);
      const packedMap = pack(new Map(values.map((index) => [`${index}`, null])));
      expect(packedList.toString('hex', 0, list.length / 2)).toBe(list);
      expect(packedMap.toString('hex', 0, map.length / 2)).toBe(map);
      expect(unpack(packedList)).toHaveLength(count);
      expect((unpack(packedMap) as SaltMap).size).toBe(count);
    }
  });

  it('writes a datetime as extension 78 and a constant as 79', () => {
    const when = new SaltDatetime('20261120T17:10:37.123456');
    expect(pack(when).toString('latin1')).toBe('\xc7\x18\x4e20261120T17:10:37.123456');
    expect(unpack(pack(when))).toEqual(when);
    const constant = new SaltConstant('NOT_SET', null);
    expect(pack(constant).toString('latin1')).toBe('\xc7\x0a\x4f\x92\xa7NOT_SET\xc0');
    expect(unpack(pack(constant))).toEqual(constant);
  });

  it('refuses what has no form: undefined, foreign objects, maps as keys, cycles', () => {
    const cyclic: SaltValue[] = [];
    cyclic.push(cyclic);
    expect(codeOf(() => pack(cyclic))).toBe('SALT_WIRE_DEPTH');
    expect(codeOf(() => pack(new Map([[new Map(), 1]])))).toBe('SALT_WIRE_KEY');
    for (const foreign of [undefined, {}, new Date(), Symbol('x'), () => 1]) {
      expect(codeOf(() => pack(foreign as unknown as SaltValue))).toBe('SALT_WIRE_VALUE');
    }
  });
});

describe('reading', () => {
  it('makes text of str, raw and bin alike if it is UTF-8, and keeps a byte order mark', () => {
    for (const head of ['a3', 'c403', 'c50003', 'c600000003', 'd903', 'da0003', 'db00000003']) {
      expect(unpack(hex(`${head}616263`))).toBe('abc');
      expect(unpack(hex(`${head}efbbbf`))).toBe('\ufeff');
      // A surrogate, an overlong form and a lone continuation byte are not UTF-8.
      for (const bad of ['eda080', 'c08061', '616280']) {
        expect(unpack(hex(head + bad))).toEqual(hex(bad));
      }
    }
  });

  it('keeps integers exact and integral floats floats', () => {
    expect(unpack(hex('cf001fffffffffffff'))).toBe(Number.MAX_SAFE_INTEGER);
    expect(unpack(hex('cf0020000000000000'))).toBe(2n ** 53n);
    expect(unpack(hex('d3ffe0000000000001'))).toBe(Number.MIN_SAFE_INTEGER);
    expect(unpack(hex('d38000000000000000'))).toBe(-(2n ** 63n));
    expect(unpack(hex('cb3ff0000000000000'))).toEqual(new SaltFloat(1));
    expect(unpack(hex('ca3f800000'))).toEqual(new SaltFloat(1));
    expect(unpack(hex('cb8000000000000000'))).toEqual(new SaltFloat(-0));
    expect(unpack(hex('cb7ff0000000000000'))).toBe(Infinity);
    expect(unpack(hex('cb7ff8000000000000'))).toBeNaN();
  });

  it('takes __proto__ for a key like any other', () => {
    const map = unpack(pack(mapOf({ ['__proto__']: 1, constructor: 2 }))) as SaltMap;
    expect([...map]).toEqual([
      ['__proto__', 1],
      ['constructor', 2],
    ]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const own = mapOf(JSON.parse('{"__proto__": {"polluted": 1}}') as Record<string, SaltValue>);
    expect(own.has('__proto__')).toBe(true);
  });

  it('keeps alike keys apart: bytes that are no text, and text with the same numbers', () => {
    const twice = (first: string, second: string) =>
      (unpack(hex(`9281${first}0181${second}02`)) as SaltMap[]).map((map) => [...map.keys()][0]);
    // é as text has the character number that the lone byte has.
    expect(twice('a2c3a9', 'a1e9')).toEqual(['é', hex('e9')]);
    expect(twice('a1e9', 'a2c3a9')).toEqual([hex('e9'), 'é']);
    expect(twice('a3616263', 'a3616263')).toEqual(['abc', 'abc']);
    expect(twice('a3616263', 'a3616463')).toEqual(['abc', 'adc']);
    expect(codeOf(() => unpack(hex('9281a36162630181a36162')))).toBe('SALT_WIRE_TRUNCATED');
  });

  it('lets the last of equal keys count, as Python does', () => {
    expect(unpack(hex('82a16101a16102'))).toEqual(mapOf({ a: 2 }));
  });

  it('gives the data of extensions that Salt does not know', () => {
    expect(unpack(hex('d40561'))).toBe('a');
    expect(unpack(hex('d6ff5d2f4c80'))).toEqual(hex('5d2f4c80'));
    expect(unpack(hex('c70005'))).toBe('');
  });

  it('refuses extensions 78 and 79 that hold something else', () => {
    for (const bad of [
      'd44e61',
      'c7024f92c0',
      'c7024fc0c0',
      'c7034f9301',
      'c7034f920101',
      'd44fc1',
    ]) {
      expect(codeOf(() => unpack(hex(bad)))).toMatch(/^SALT_WIRE_/);
    }
  });

  it('refuses lists and maps as keys, and the byte that begins nothing', () => {
    expect(codeOf(() => unpack(hex('8190c0')))).toBe('SALT_WIRE_KEY');
    expect(codeOf(() => unpack(hex('8180c0')))).toBe('SALT_WIRE_KEY');
    expect(codeOf(() => unpack(hex('c1')))).toBe('SALT_WIRE_TYPE');
  });
});
