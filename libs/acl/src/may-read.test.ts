import { mapOf } from '@brine/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  aclValue,
  mayPublish,
  mayRead,
  type Readable,
  readAcl,
  readsAll,
  runJudge,
} from './index.ts';

/** The minions that targets in rights match. */
const REACH: Readonly<Record<string, readonly string[]>> = {
  'web*': ['web1', 'web2'],
  'G@os:Debian': ['web1', 'db1'],
};

/** The users of the table, by their rights. */
const USERS: Readonly<Record<string, readonly unknown[]>> = {
  all: ['.*', '@runner', '@wheel'],
  nothing: [],
  tests: ['test.*'],
  webs: [{ 'web*': ['test.ping', { 'state.apply': [{ args: ['nginx'] }] }, 'grains.items'] }],
  jobs: ['@jobs'],
  runner: ['@runner'],
  wheel: ['@wheel'],
  keys: [{ '@wheel': ['key.list_all'] }],
  pillars: [{ 'G@os:Debian': ['pillar.*'] }],
  site: ['@events'],
  manages: [{ '@runner': ['manage.*'] }],
  options: [{ '@wheel': ['config.values', { 'key.list_all': [] }] }],
  limited: [{ '@runner': [{ 'http.query': { args: ['https://a/'] } }] }],
  'as for functions alone': ['.*'],
};

const ret = (minion: string, fun: string, args: string[] = [], principal?: string): Readable => ({
  kind: 'return',
  principal,
  minion,
  fun,
  args,
});
const run = (of: 'runner' | 'wheel', fun: string, principal?: string): Readable => ({
  kind: 'run',
  principal,
  of,
  fun,
  args: [],
  kwargs: mapOf({}),
});

/** Each thing, and the users that may read it beside `all`. */
const TABLE: readonly (readonly [name: string, thing: Readable, users: readonly string[]])[] = [
  ['a job of another', { kind: 'job', principal: 'other' }, ['jobs', 'runner']],
  ['a job of an unknown principal', { kind: 'job', principal: undefined }, ['jobs', 'runner']],
  [
    'a ping that web1 returned',
    ret('web1', 'test.ping'),
    ['jobs', 'runner', 'tests', 'webs', 'as for functions alone'],
  ],
  [
    'a ping that db1 returned',
    ret('db1', 'test.ping'),
    ['jobs', 'runner', 'tests', 'as for functions alone'],
  ],
  [
    'a state with the argument of the rule',
    ret('web1', 'state.apply', ['nginx']),
    ['jobs', 'runner', 'webs', 'as for functions alone'],
  ],
  [
    'a state with another argument',
    ret('web1', 'state.apply', ['users']),
    ['jobs', 'runner', 'as for functions alone'],
  ],
  ['a command', ret('web1', 'cmd.run', ['id']), ['jobs', 'runner', 'as for functions alone']],
  ['a run of a runner', run('runner', 'manage.up', 'other'), ['runner', 'manages']],
  ['a run of a jobs runner', run('runner', 'jobs.active', 'other'), ['jobs', 'runner']],
  ['a run of a wheel', run('wheel', 'key.accept', 'other'), ['wheel']],
  ['keys and log-ins', { kind: 'keys' }, ['wheel', 'keys']],
  ['grains of web1', { kind: 'grains', minion: 'web1' }, ['webs', 'as for functions alone']],
  ['grains of db1', { kind: 'grains', minion: 'db1' }, ['as for functions alone']],
  ['a pillar of db1', { kind: 'pillar', minion: 'db1' }, ['pillars', 'as for functions alone']],
  ['a pillar of web2', { kind: 'pillar', minion: 'web2' }, ['as for functions alone']],
  [
    'that web1 is there',
    { kind: 'minion', minion: 'web1' },
    ['tests', 'webs', 'pillars', 'as for functions alone'],
  ],
  [
    'that web2 is there',
    { kind: 'minion', minion: 'web2' },
    ['tests', 'webs', 'as for functions alone'],
  ],
  [
    'that an unknown one is there',
    { kind: 'minion', minion: 'other' },
    ['tests', 'as for functions alone'],
  ],
  ['the mine of web1', { kind: 'mine', minion: 'web1' }, ['as for functions alone']],
  ["an event of the site's own", { kind: 'site' }, ['site']],
  ['the services', { kind: 'services' }, ['runner', 'manages']],
  ['the options', { kind: 'config' }, ['wheel', 'options']],
  [
    'that test.ping is there',
    { kind: 'function', of: 'module', fun: 'test.ping' },
    ['tests', 'webs', 'as for functions alone'],
  ],
  [
    'that a state is there',
    { kind: 'function', of: 'state', fun: 'pkg.installed' },
    ['as for functions alone'],
  ],
  [
    'that a function is there that is limited to some arguments',
    { kind: 'function', of: 'module', fun: 'state.apply' },
    ['webs', 'as for functions alone'],
  ],
  [
    'that a runner is there, even for some arguments alone',
    { kind: 'function', of: 'runner', fun: 'http.query' },
    ['runner', 'limited'],
  ],
  [
    'that a wheel is there',
    { kind: 'function', of: 'wheel', fun: 'key.list_all' },
    ['wheel', 'keys'],
  ],
  [
    'that a function without two parts is there',
    { kind: 'function', of: 'runner', fun: 'jobs' },
    [],
  ],
];

const reader = (name: string, rights: readonly unknown[]) => ({
  principal: name,
  acl: readAcl(rights),
  matching: (target: string) => new Set(REACH[target]),
});

describe('a reader', () => {
  it.each(TABLE)('of %s', (_name, thing, users) => {
    const may = Object.entries(USERS).filter(([name, rights]) =>
      mayRead(reader(name, rights), thing),
    );
    expect(may.map(([name]) => name).sort()).toEqual(['all', ...users].sort());
  });

  it('may read its own jobs, returns and runs without any right', () => {
    const own = reader('nothing', []);
    expect(mayRead(own, { kind: 'job', principal: 'nothing' })).toBe(true);
    expect(mayRead(own, ret('db1', 'cmd.run', ['id'], 'nothing'))).toBe(true);
    expect(mayRead(own, run('wheel', 'key.accept', 'nothing'))).toBe(true);
  });

  it('with a key of root may read everything', () => {
    const root = { principal: 'root', acl: undefined, matching: () => new Set<string>() };
    expect(TABLE.every(([, thing]) => mayRead(root, thing))).toBe(true);
  });

  it('has all rights only with those to functions, runners and wheels', () => {
    const seen = Object.entries(USERS).filter(([, rights]) => readsAll(readAcl(rights)));
    expect(seen.map(([name]) => name)).toEqual(['all']);
    expect(readsAll(undefined)).toBe(true);
  });
});

it('may run a function where a publish of it to that minion alone is allowed', () => {
  const targets = fc.constantFrom('*', 'web*', 'G@os:Debian', '@runner', '@wheel', 'none');
  const functions = fc.constantFrom('.*', 'grains.*', 'grains.items', 'test.ping', '@jobs', '[');
  const limited = fc.constant({ 'grains.items': [{ args: ['os'] }] });
  const entries = fc.oneof(
    functions,
    fc
      .tuple(targets, fc.array(fc.oneof(functions, limited), { maxLength: 2 }))
      .map(([target, rules]) => ({ [target]: rules })),
  );
  fc.assert(
    fc.property(fc.array(entries, { maxLength: 4 }), (rights) => {
      const { acl, matching } = reader('any', rights);
      for (const minion of ['web1', 'web2', 'db1', 'other']) {
        const reach = { minions: [minion], matching, beyond: false };
        const may = readsAll(acl) || mayPublish(acl, { fun: 'grains.items', arg: [] }, reach);
        expect(runJudge(reader('any', rights), 'grains.items')(minion)).toBe(may);
      }
    }),
    { numRuns: 500 },
  );
});

it.each(Object.entries(USERS))('the rights of %s are the same for another process', (_, rights) => {
  const acl = readAcl(rights);
  expect(readAcl(aclValue(acl))).toEqual(acl);
});
