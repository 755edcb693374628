import { mapOf, pack, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { wouldChange } from './would-change.ts';

const of = (result: SaltValue) => mapOf({ changes: mapOf({ x: null }), result });

test('states whose result is None would change', () => {
  expect(wouldChange(pack(mapOf({ a: of(null), b: of(true), c: of(null), d: of(false) })))).toBe(2);
  expect(wouldChange(pack(mapOf({})))).toBe(0);
  expect(wouldChange(pack(mapOf({ a: mapOf({ changes: mapOf({}) }) })))).toBe(0);
});

test.each([
  ['nothing', undefined],
  ['a list of errors', pack(['no such sls'])],
  ['a text', pack('error')],
  ['a state that is no map', pack(mapOf({ a: of(null), b: 'x' }))],
  ['half of a return', pack(mapOf({ a: of(null) })).subarray(0, 9)],
  ['a large return', pack(mapOf({ a: of(null), b: mapOf({ comment: 'x'.repeat(1 << 20) }) }))],
  [
    'very many states',
    pack(new Map(Array.from({ length: 10_001 }, (_, at) => [`s${at}`, mapOf({ result: null })]))),
  ],
])('%s is not counted', (_, packed) => {
  expect(wouldChange(packed)).toBeUndefined();
});
