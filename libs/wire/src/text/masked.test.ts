import { expect, test } from 'vitest';
import { mapOf, SaltDatetime, SaltFloat, type SaltValue } from '../value.ts';
import { masked } from './masked.ts';

const MASK = '**********';
const BYTES = new TextEncoder().encode(MASK);
const DATE = new SaltDatetime('20260101T00:00:00.000000');

/** As salt.utils.secret.serial of Salt 3008.5 answers. */
const CASES: readonly (readonly [string, SaltValue, SaltValue])[] = [
  ['a text', 'secret', MASK],
  ['a number', 4711, MASK],
  ['a long number', 2n ** 63n, MASK],
  ['a float', new SaltFloat(1.5), MASK],
  ['true', true, MASK],
  ['bytes', new Uint8Array([1, 2]), BYTES],
  ['an empty text', '', ''],
  ['zero', 0, 0],
  ['a zero float', new SaltFloat(0), new SaltFloat(0)],
  ['false', false, false],
  ['nothing', null, null],
  ['no bytes', new Uint8Array(), new Uint8Array()],
  ['a time', DATE, DATE],
];

test.each(CASES)('%s', (_name, value, hidden) => {
  expect(masked(value)).toEqual(hidden);
  expect(masked(mapOf({ key: [value, mapOf({ key: value })] }))).toEqual(
    mapOf({ key: [hidden, mapOf({ key: hidden })] }),
  );
});
