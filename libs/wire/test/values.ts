import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import type { SaltMap, SaltValue } from '../src/value.ts';
import { SaltConstant, SaltDatetime, SaltFloat } from '../src/value.ts';

/** Bytes that no receiver reads as text. */
export const binary = fc
  .uint8Array({ minLength: 1, maxLength: 40 })
  .map((bytes) =>
    isUtf8(bytes) ? Buffer.concat([bytes, Buffer.from([0xff])]) : Buffer.from(bytes),
  );

/** Text of any planes, without lone surrogates; now and then beyond the short headers. */
export const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme-ascii', minLength: 30, maxLength: 300 }),
  fc.constantFrom('__proto__', 'constructor', '', '\ufeffx', '\0', "it's", 'a"b', '\u2028'),
);

const integer = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -300, max: 300 }),
  fc.constantFrom(127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296),
  fc.constantFrom(-32, -33, -128, -129, -32_768, -32_769, -2_147_483_648, -2_147_483_649),
);
const big = fc
  .oneof(
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
  )
  .filter((value) => value > BigInt(Number.MAX_SAFE_INTEGER) || value < -(2n ** 53n));
const fraction = fc.double({ noInteger: true, noDefaultInfinity: true, noNaN: true });
const special = fc.constantFrom(Number.NaN, Infinity, -Infinity);
const whole = fc
  .oneof(fc.integer(), fc.constantFrom(-0, 1e300, 2 ** 60))
  .map((n) => new SaltFloat(n));
const datetime = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => {
    const [day = '', time = ''] = date.toISOString().split('T');
    return new SaltDatetime(`${day.replaceAll('-', '')}T${time.slice(0, 12)}000`);
  });

/** Any scalar. */
export const scalar: fc.Arbitrary<SaltValue> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  integer,
  big,
  fraction,
  special,
  whole,
  text,
  binary,
  datetime,
);

const key: fc.Arbitrary<SaltValue> = fc.oneof(
  { weight: 8, arbitrary: text },
  { weight: 1, arbitrary: fc.oneof(fc.constant(null), fc.boolean(), integer, big) },
);

function mapArbitrary(keys: fc.Arbitrary<SaltValue>, values: fc.Arbitrary<SaltValue>) {
  return fc
    .array(fc.tuple(keys, values), { maxLength: 20 })
    .map((entries): SaltMap => new Map(entries));
}

/** Any value of a message. */
export const anyValue: fc.Arbitrary<SaltValue> = fc.letrec<{ node: SaltValue }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('node'), { maxLength: 20 }),
    mapArbitrary(key, tie('node')),
    fc
      .tuple(fc.string({ unit: 'grapheme-ascii', maxLength: 10 }), tie('node'))
      .map(([name, value]) => new SaltConstant(name, value)),
  ),
})).node;

/** Any map with text keys. */
export const anyMap: fc.Arbitrary<SaltMap> = mapArbitrary(text, anyValue);
