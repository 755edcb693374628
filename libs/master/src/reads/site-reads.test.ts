import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { readAs, readersOf } from './reads.fixture.ts';

const vectors = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);

/** What users of this master may do; `root` may do all. */
const ACL: Readonly<Record<string, SaltValue[]>> = {
  webs: [mapOf({ 'N@webs': ['test.*'] })],
  mixed: [mapOf({ 'N@webs or N@dbs': ['test.*'] }), mapOf({ 'N@none': ['test.*'] })],
  manages: [mapOf({ '@runner': ['manage.*'] })],
  options: [mapOf({ '@wheel': ['config.values'] })],
  operator: [mapOf({ '@wheel': ['config.values', 'key.list_all'] })],
  none: ['@events'],
};

const NODEGROUPS = {
  webs: 'web*',
  dbs: ['L@db1', 'or', 'N@webs'],
  secret: 'I@role:db',
};

let made: ReturnType<typeof memoryMaster>;

beforeEach(() => {
  const { access, ...login } = readersOf(ACL);
  made = memoryMaster({
    masterKey,
    ...login,
    rules: {
      nodegroups: NODEGROUPS,
      access,
    },
  });
  const pub = masterKey.publicKey.pem;
  for (const id of ['web1', 'web2', 'db1']) {
    made.setKey(id, { state: 'accepted', pub, denied: [] });
    made.grains.set(id, mapOf({ id }));
  }
  const pillars = {
    render: async () => mapOf({}),
    ready: async () => undefined,
    of: (id: string) => mapOf({ role: id.slice(0, 2) }),
  };
  Object.assign(made.ports, { pillars, roll: async () => mapOf({ services: [], leftOut: 0 }) });
});

async function ask(user: string, read: string, args: Record<string, SaltValue> = {}) {
  return readAs(made, user, read, args);
}

const USERS = ['root', ...Object.keys(ACL)];

test.each(USERS)('services are for who may run manage.status: %s', async (user) => {
  const { value } = Object.fromEntries(await ask(user, 'services'));
  expect(isMap(value ?? null)).toBe(['root', 'manages'].includes(user));
});

test('services that can not be called are no fault', async () => {
  Object.assign(made.ports, { roll: undefined });
  const error = mapIn(await ask('root', 'services'), 'error') ?? mapOf({});
  expect(textOf(error, 'name')).toBe('SaltReqTimeoutError');
});

describe('nodegroups', () => {
  const groupsOf = async (user: string, args?: Record<string, SaltValue>) => {
    const value = mapIn(await ask(user, 'nodegroups', args), 'value') ?? mapOf({});
    const groups = (listOf(value, 'groups') ?? []) as SaltMap[];
    return groups.map((one) => [one.get('name'), one.get('expression'), one.get('count')]);
  };

  test('are all shown to who may do all', async () => {
    expect(await groupsOf('root')).toEqual([
      ['dbs', 'L@db1 or N@webs', 3],
      ['secret', 'I@role:db', 1],
      ['webs', 'web*', 2],
    ]);
  });

  test.each([
    ['webs', [['webs', null, 2]]],
    // A right for a compound of groups names none; a group that is not defined is not there.
    ['mixed', []],
    ['manages', []],
    ['none', []],
  ])('are to %s those that its rights have as a target', async (user, groups) => {
    expect(await groupsOf(user)).toEqual(groups);
  });

  test('count the minions that their reader sees alone', async () => {
    const counts = async (user: string) => (await groupsOf(user)).map(([, , count]) => count);
    expect(await counts('options')).toEqual([0, 0, 0]);
    // Keys show that a minion is there, but not what is in its pillar.
    expect(await counts('operator')).toEqual([3, 0, 2]);
  });

  test('come in pages', async () => {
    const page = mapIn(await ask('root', 'nodegroups', { limit: 2 }), 'value');
    expect(page?.get('next')).toBe('secret');
    expect(await groupsOf('root', { limit: 2, after: 'secret' })).toHaveLength(1);
  });

  test('that take too much work are there without a count', async () => {
    const doubled = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`g${at}`, `N@g${at + 1} or N@g${at + 1}`]),
    );
    Object.assign(made.ports.rules, { nodegroups: { ...doubled, g40: 'web*' } });
    const [first] = await groupsOf('root', { limit: 1 });
    expect(first?.[2]).toBeNull();
    expect(made.counts.get('nodegroup_too_large')).toBe(1);
  });
});
