import { mapOf, type SaltValue } from '@brine/wire';
import { expect, it } from 'vitest';
import type { Reach } from './index.ts';
import { grantedTo, isBlacklisted, mayCall, mayPublish, publisherAcl, readAcl } from './index.ts';

const MATCHING: Readonly<Record<string, readonly string[]>> = { 'web*': ['web1', 'web2'] };

function reach(minions: readonly string[], beyond = false): Reach {
  return { minions, beyond, matching: (target) => new Set(MATCHING[target] ?? []) };
}

function may(
  rights: unknown,
  fun: string | readonly string[],
  minions: readonly string[] = ['web1'],
  arg: readonly SaltValue[] = [],
): boolean {
  return mayPublish(readAcl(rights), { fun, arg }, reach(minions));
}

it('a function expression need not reach the end of the name, but begins at its start', () => {
  expect(may(['test.p'], 'test.ping')).toBe(true);
  expect(may(['ping'], 'test.ping')).toBe(false);
  expect(may(['(broken'], 'test.ping')).toBe(false);
  expect(may(['@runner', '@wheel'], 'test.ping')).toBe(false);
});

it('a limited entry covers a call only with every minion it reaches', () => {
  const rights = [{ 'web*': ['test.*'] }];
  expect(may(rights, 'test.ping', ['web1', 'web2'])).toBe(true);
  expect(may(rights, 'test.ping', ['web1', 'db1'])).toBe(false);
  expect(may(rights, 'cmd.run', ['web1'])).toBe(false);
  expect(may([{ '*': 'test.*' }], 'test.ping', ['db1'])).toBe(true);
  expect(may([{ '@runner': ['test.*'] }], 'test.ping', [])).toBe(false);
});

it('CVE-2022-22941: a target without minions here may reach minions of lower masters', () => {
  const rights = readAcl([{ 'web*': ['test.*'] }]);
  const call = { fun: 'test.ping', arg: [] };
  expect(mayPublish(rights, call, reach([], true))).toBe(false);
  expect(mayPublish(rights, call, reach([], false))).toBe(true);
  expect(mayPublish(readAcl(['test.*']), call, reach([], true))).toBe(true);
});

it('of several functions each must be allowed', () => {
  expect(may(['test.*'], ['test.ping', 'cmd.run'], ['web1'], [[], []])).toBe(false);
  expect(may(['test.*', 'cmd.*'], ['test.ping', 'cmd.run'], ['web1'], [[], []])).toBe(true);
  const always = new Set(['saltutil.find_job']);
  const all = reach(['web1']);
  const asked = { fun: ['saltutil.find_job', 'cmd.run'], arg: [[], []] };
  expect(mayPublish([], asked, all, always)).toBe(false);
  expect(mayPublish([], { fun: 'saltutil.find_job', arg: [] }, all, always)).toBe(true);
  expect(mayPublish(readAcl(['.*']), { fun: [], arg: [] }, all)).toBe(false);
});

it('arguments are judged one by one, keywords by name', () => {
  const rule = { args: ['a.*', null, '3'], kwargs: { dry: 'True', any: null } };
  const rights = [{ '*': [{ 'my.fun': rule }] }];
  const keywords = (members: Record<string, SaltValue>): SaltValue =>
    mapOf({ ...members, __kwarg__: true });
  const call = (...arg: SaltValue[]): boolean => may(rights, 'my.fun', ['db1'], arg);
  expect(call('abc', 'x', 3, keywords({ dry: true, any: 'z' }))).toBe(true);
  expect(call('abc', 'x', 4, keywords({ dry: true, any: 'z' }))).toBe(false);
  expect(call('abc', 'x', 3, keywords({ dry: true }))).toBe(false);
  expect(call('abc', keywords({ dry: true, any: 'z' }))).toBe(false);
  expect(call('abc', 'x', 3)).toBe(false);
});

it('rules that cannot be read give no right', () => {
  for (const rights of [
    [{ 'web*': ['test.*'], 'db*': ['test.*'] }],
    [{ '*': [{ 'test.ping': 'args' }] }],
    [{ '*': [{ 'test.ping': { args: 'abc' } }] }],
    [{ '*': [{ 'test.ping': { kwargs: ['a'] } }] }],
    [{ '*': null }],
    [5, null, ''],
    null,
  ]) {
    expect([rights, may(rights, 'test.ping', ['web1'], ['abc'])]).toEqual([rights, false]);
  }
});

it('functions of the master are allowed by module, by kind and by argument', () => {
  const call = (rights: unknown, fun: string, args: SaltValue[] = [], kind?: 'wheel') =>
    mayCall(readAcl(rights), { kind: kind ?? 'runner', fun, args, kwargs: new Map() });
  expect(call(['@runner'], 'jobs.active')).toBe(true);
  expect(call(['@runners'], 'jobs.active')).toBe(true);
  expect(call(['@runner'], 'key.list_all', undefined, 'wheel')).toBe(false);
  expect(call(['@jobs'], 'jobs.active')).toBe(true);
  expect(call(['@jobs'], 'manage.up')).toBe(false);
  expect(call(['.*'], 'jobs.active')).toBe(false);
  expect(call([{ '@jobs': ['list_.*'] }], 'jobs.list_jobs')).toBe(true);
  expect(call([{ '@jobs': ['list_.*'] }], 'jobs.active')).toBe(false);
  expect(call([{ '@runner': ['jobs.list_.*'] }], 'jobs.list_jobs')).toBe(true);
  const limited = [{ '@jobs': [{ lookup_jid: { args: ['2026.*'] } }] }];
  expect(call(limited, 'jobs.lookup_jid', ['20261122'])).toBe(true);
  expect(call(limited, 'jobs.lookup_jid', ['2025'])).toBe(false);
  expect(call(limited, 'jobs.lookup_jid')).toBe(false);
  expect(call(['@runner'], 'jobs')).toBe('misspelt');
  expect(call([], 'jobs')).toBe(false);
});

it('a user has the rights of its name and groups, and those of * only without a name', () => {
  const provider = {
    '^filename': '.*',
    fred: ['test.*'],
    'ops%': ['cmd.*'],
    '*': ['sys.doc'],
  };
  const expressions = (name: string, groups: readonly string[] = [], permissive = false) =>
    grantedTo(provider, name, groups, permissive).map((entry) =>
      entry.kind === 'everywhere' ? entry.expression : entry.target,
    );
  expect(expressions('fred')).toEqual(['test.*']);
  expect(expressions('fred', ['ops'])).toEqual(['test.*', 'cmd.*']);
  expect(expressions('anne', ['ops'])).toEqual(['cmd.*', 'sys.doc']);
  expect(expressions('anne', [], true)).toEqual([]);
  // A name is no expression, and no setting of the module a right.
  for (const name of ['f*', 'fre.', '^filename', 'ops%', '*']) {
    expect(expressions(name)).toEqual(['sys.doc']);
  }
});

it('publisher_acl names users by globs and whole expressions', () => {
  const rights = { 'dev-.+|ops': ['test.ping'], 'web*': ['state.*'] };
  expect(publisherAcl(rights, 'dev-anne')).toHaveLength(1);
  expect(publisherAcl(rights, 'ops')).toHaveLength(1);
  expect(publisherAcl(rights, 'webmaster')).toHaveLength(1);
  expect(publisherAcl(rights, 'oops')).toHaveLength(0);
  expect(publisherAcl(rights, 'root')).toHaveLength(0);
});

it('a blacklist refuses by globs, and by expressions with the anchors of Salt', () => {
  const blacklist = { users: ['root', '^(?!sudo_).*$'], modules: ['cmd', 'test.echo'] };
  expect(isBlacklisted(blacklist, ['sudo_anne'], ['test.ping'])).toBe(false);
  expect(isBlacklisted(blacklist, ['anne'], ['test.ping'])).toBe(true);
  expect(isBlacklisted(blacklist, ['sudo_anne'], ['test.ping', 'test.echo'])).toBe(true);
  expect(isBlacklisted(blacklist, ['sudo_anne'], ['cmd.run'])).toBe(false);
  expect(isBlacklisted({ users: [], modules: ['cmd|x'] }, ['a'], ['cmd.run'])).toBe(true);
});
