import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { permissionsOf } from './permissions.ts';

const AUTH = {
  pam: {
    anne: ['test.*', '@runner', { 'web*': ['state.apply'] }],
    '*': ['test.ping', '@runner'],
    'admins%': ['.*', { 'db*': ['test.ping'] }],
    text: 'all',
  },
};

const of = (name: string, eauth = 'pam', groups: readonly string[] = []) =>
  permissionsOf(AUTH, { name, eauth, groups });

test('rights of the name, of all and of the groups are added, texts first and sorted', () => {
  expect(of('anne', 'pam', ['admins', 'others'])).toEqual([
    '.*',
    '@runner',
    'test.*',
    'test.ping',
    mapOf({ 'db*': ['test.ping'] }),
    mapOf({ 'web*': ['state.apply'] }),
  ]);
  expect(of('other')).toEqual(['@runner', 'test.ping']);
});

test('the configured lists do not grow with each log-in', () => {
  const before = structuredClone(AUTH);
  const first = of('anne', 'pam', ['admins']);
  for (let run = 0; run < 5; run += 1) expect(of('anne', 'pam', ['admins'])).toEqual(first);
  expect(AUTH).toEqual(before);
});

test('a module or a user without rights has none', () => {
  expect(of('anne', 'ldap')).toBeUndefined();
  expect(permissionsOf({ pam: { anne: [] } }, { name: 'anne', eauth: 'pam', groups: [] })).toBe(
    undefined,
  );
  expect(permissionsOf({ pam: null }, { name: 'anne', eauth: 'pam', groups: [] })).toBeUndefined();
});

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'text'])(
  'the name %s has the rights of all alone, and as a module none',
  (name) => {
    expect(of(name)).toEqual(['@runner', 'test.ping']);
    expect(of('anne', name)).toBeUndefined();
    expect(of('x', 'pam', [name])).toEqual(['@runner', 'test.ping']);
  },
);
