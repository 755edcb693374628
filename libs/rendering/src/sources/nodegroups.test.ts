import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { readNodegroups } from './nodegroups.ts';

/*
 * Salt's records are in the trees of test/fixtures/pillar. Here Brine judges by the request itself.
 */

const MINION = { id: 'web1', grains: mapOf({ os: 'Debian' }), pillarenv: null };

function groupsOf(nodegroups: Record<string, unknown>, pillar: SaltMap = mapOf({})): unknown {
  return readNodegroups(MINION, mapOf({}), { nodegroups, pillar }).get('nodegroups');
}

test('terms that ask for a pillar judge what it has so far', () => {
  const groups = { has: 'I@role:web', has_not: 'not I@role:web' };
  expect(groupsOf(groups, mapOf({ role: 'web' }))).toEqual(['has']);
  expect(groupsOf(groups)).toEqual(['has_not']);
});

test('grains are those of the request, and another minion is none of it', () => {
  expect(groupsOf({ own: 'G@os:Debian', other: 'web2', none: 'G@os:RedHat' })).toEqual(['own']);
});

test('a group that takes too much work is an error and no empty list', () => {
  const groups = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`g${at}`, `N@g${at + 1} or N@g${at + 1}`]),
  );
  expect(() => groupsOf(groups)).toThrow(/work|too/i);
});
