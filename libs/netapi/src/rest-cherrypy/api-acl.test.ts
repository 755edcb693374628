import { expect, test } from 'vitest';
import { mayComeFrom } from './api-acl.ts';

const ACL = new Map([
  ['*', ['10.0.0.1']],
  ['anne', ['10.0.0.2', '10.0.0.3']],
  ['bob', ['*']],
  ['eve', []],
]);

const CASES: readonly (readonly [string, string, boolean])[] = [
  ['anne', '10.0.0.3', true],
  ['anne', '10.0.0.1', false],
  ['bob', '192.0.2.9', true],
  ['eve', '10.0.0.1', false],
  ['other', '10.0.0.1', true],
  ['other', '10.0.0.11', false],
  ['__proto__', '10.0.0.1', true],
  ['', '10.0.0.9', false],
];

test.each(CASES)('%s from %s: %s', (user, address, may) => {
  expect(mayComeFrom(ACL, user, address)).toBe(may);
});

test('without a list all come from anywhere, and without an entry for all others none', () => {
  expect(mayComeFrom(undefined, 'anne', '::1')).toBe(true);
  expect(mayComeFrom(new Map([['bob', ['*']]]), 'anne', '::1')).toBe(false);
});
