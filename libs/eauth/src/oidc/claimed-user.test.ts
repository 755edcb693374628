import { describe, expect, test } from 'vitest';
import { RefusedLogin } from '../login-module.ts';
import { claimedUser } from './claimed-user.ts';

const BY = { nameClaim: 'preferred_username', groupsClaim: 'groups' };
const user = (claims: Readonly<Record<string, unknown>>, by = BY) => claimedUser(claims, by);

describe('a user', () => {
  test('has the name and the groups of its claims, whatever signs they have', () => {
    const names = ['anne', 'anne@example.com', '<img src=x onerror=a()>', '*', 'a%', 'Ä 中', '^x'];
    for (const name of names) {
      expect(user({ preferred_username: name, groups: ['ops', name] })).toEqual({
        name,
        groups: ['ops', name],
      });
    }
  });

  test('has no groups without a claim, and one group of a text', () => {
    const preferred_username = 'anne';
    expect(user({ preferred_username }).groups).toEqual([]);
    expect(user({ preferred_username, groups: null }).groups).toEqual([]);
    expect(user({ preferred_username, groups: 'ops' }).groups).toEqual(['ops']);
    const without = { ...BY, groupsClaim: '' };
    expect(user({ preferred_username, groups: ['ops'] }, without).groups).toEqual([]);
  });

  test('is none by an address that its provider has not verified', () => {
    const by = { ...BY, nameClaim: 'email' };
    const email = 'anne@example.com';
    expect(user({ email }, by).name).toBe(email);
    expect(user({ email, email_verified: true }, by).name).toBe(email);
    for (const email_verified of [false, 'true', 1, 'false']) {
      expect(() => user({ email, email_verified }, by)).toThrow('not verified');
    }
  });
});

test.each([
  ['missing', undefined],
  ['empty', ''],
  ['blank', ' \t'],
  ['a number', 7],
  ['a list', ['anne']],
  ['a map', { anne: 1 }],
  ['null', null],
  ['too long', 'a'.repeat(257)],
  ['with a line break', 'anne\nroot'],
  ['with NUL', 'anne\0'],
  ['with a mark that turns the text', 'anne\u202eroot'],
  ['with half of a character', 'anne\ud800'],
])('a name that is %s refuses the log-in', (_, name) => {
  expect(() => user({ preferred_username: name })).toThrow(RefusedLogin);
});

test('the prototype of the claims has no claim', () => {
  for (const nameClaim of ['constructor', '__proto__', 'toString']) {
    expect(() => user({}, { ...BY, nameClaim })).toThrow(RefusedLogin);
    expect(user({ preferred_username: 'a' }, { ...BY, groupsClaim: nameClaim }).groups).toEqual([]);
  }
});

test.each([
  ['a number', 7],
  ['a map', { ops: true }],
  ['with an empty text', ['ops', '']],
  ['with a number', ['ops', 7]],
  ['with a list', [['ops']]],
  ['with null', ['ops', null]],
  ['with a control character', ['ops\u001b[2J']],
  ['with a long text', ['a'.repeat(1_025)]],
  ['of too many', Array.from({ length: 1_001 }, (_, at) => `g${at}`)],
  ['of too much', Array.from({ length: 70 }, () => 'a'.repeat(1_000))],
])('groups that are %s refuse the log-in', (_, groups) => {
  expect(() => user({ preferred_username: 'anne', groups })).toThrow(RefusedLogin);
});

test('groups that did not fit into the token refuse the log-in', () => {
  const preferred_username = 'anne';
  const elsewhere = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } };
  for (const claims of [elsewhere, { hasgroups: true }, { ...elsewhere, groups: ['ops'] }]) {
    expect(() => user({ preferred_username, ...claims })).toThrow('too many groups');
  }
  const other = { _claim_names: { address: 'src1' } };
  expect(user({ preferred_username, ...other }).groups).toEqual([]);
});
