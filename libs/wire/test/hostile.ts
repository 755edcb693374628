import fc from 'fast-check';
import { expect } from 'vitest';
import { WireError } from '../src/errors.ts';
import type { SaltMap, SaltValue } from '../src/value.ts';
import { SaltDatetime, SaltFloat } from '../src/value.ts';

/** The reader of a load. */
export type Parse = (load: SaltMap) => unknown;

/** A value of every type. */
export const WRONG: readonly SaltValue[] = [
  null,
  true,
  -1,
  1.5,
  2n ** 63n,
  new SaltFloat(1),
  '',
  '\0',
  '__proto__',
  Buffer.from([0xff]),
  [],
  [null],
  [new Map()],
  [[]],
  new Map(),
  new Map<SaltValue, SaltValue>([['__proto__', 1]]),
  new Map<SaltValue, SaltValue>([[1, 2]]),
  new SaltDatetime('20260101T00:00:00.000000'),
];

/** Every field missing, and of every wrong type, gives a value or SALT_WIRE_FIELD, nothing else. */
export function surviveHostile(parse: Parse, load: SaltMap): void {
  for (const key of load.keys()) {
    const without = new Map(load);
    without.delete(key);
    expectFieldError(() => parse(without));
    for (const wrong of WRONG) {
      expectFieldError(() => parse(new Map(load).set(key, wrong)));
    }
  }
  expectFieldError(() => parse(new Map()));
}

function expectFieldError(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(WireError);
    expect((error as WireError).code).toBe('SALT_WIRE_FIELD');
  }
}

/** Invalid names, each for a reason of its own. */
export const NO_NAMES: readonly string[] = [
  '\0',
  'a\0b',
  'web1\0',
  '\ud83d',
  'a\ude00b',
  '\ude00\ud83d',
  'a\x1b[2Jb',
  'a\x07',
  'a\x7fb',
  'a\x9b31mb',
  'a\u202eb'.repeat(2),
];

/** Texts of any hostile kind: a seed of pieces, long runs, and cuts through emoji. */
export function hostileTexts(): fc.Arbitrary<string> {
  const piece = fc.constantFrom(
    ...NO_NAMES,
    ...['', 'web1', 'é', '😀', '\u202d', '\u2066', 'مرحبا', '\n', '\r\n', '\n\n', '\t', '..', '/'],
    ...['\ufeff', '\uffff', '\u2028', '__proto__', '"', "'", '\\', '%', '*', '{}', '$map'],
  );
  const joined = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
  const cut = fc
    .tuple(fc.nat({ max: 300 }), fc.nat({ max: 600 }))
    .map(([count, at]) => 'a😀'.repeat(count).slice(0, at));
  const long = fc.constantFrom('x', '😀', '\0').map((unit) => unit.repeat(1 << 20));
  return fc.oneof(
    { arbitrary: joined, weight: 8 },
    { arbitrary: cut, weight: 3 },
    { arbitrary: fc.string({ unit: 'binary' }), weight: 3 },
    { arbitrary: long, weight: 1 },
  );
}
