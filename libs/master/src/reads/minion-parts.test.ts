import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { toJson } from '@brine/wire/text';
import { beforeEach, describe, expect, test } from 'vitest';
import { readAs, readersOf } from './reads.fixture.ts';

const vectors = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);
const JID = '20261126120000123456';

/** What users of this master may do; `root` may do all. */
const ACL: Readonly<Record<string, SaltValue[]>> = {
  anne: ['test.*'],
  rick: ['@runner'],
  wanda: ['@wheel'],
  webs: [mapOf({ 'web*': ['pillar.items', 'mine.get', 'schedule.list', 'beacons.list'] })],
  dbs: [mapOf({ 'db*': ['.*'] })],
  narrow: [mapOf({ 'web*': [mapOf({ 'schedule.list': mapOf({ args: ['x'] }) }), 'test.ping'] })],
};
const USERS = ['root', ...Object.keys(ACL)] as const;

const SECRET = 'hunter2';
const PILLAR = mapOf({
  db: mapOf({ password: SECRET, port: 5432, tls: true, none: null }),
  users: [mapOf({ name: 'anne', keys: [SECRET, Buffer.from(SECRET)] }), 'bob'],
  empty: mapOf({}),
});
const MASK = '********';
const MASKED = mapOf({
  db: mapOf({ password: MASK, port: MASK, tls: MASK, none: MASK }),
  users: [mapOf({ name: MASK, keys: [MASK, MASK] }), MASK],
  empty: mapOf({}),
});

let made: MemoryMaster;
let asked: [query: string, args: SaltMap][];
let jobs: SaltValue[];

function answerQuery(query: string, args: SaltMap): SaltValue {
  asked.push([query, args]);
  if (query === 'page_minion_jobs') return mapOf({ jobs, next: JID });
  if (query !== 'page_newest_return' || args.get('fun') === 'beacons.list') return null;
  const load = mapOf({ return: mapOf({ job1: mapOf({ seconds: 60 }) }) });
  return mapOf({ jid: JID, load, receivedAt: 5_000 });
}

beforeEach(async () => {
  asked = [];
  jobs = [];
  const { access, ...login } = readersOf(ACL);
  made = memoryMaster({
    masterKey,
    ...login,
    answerQuery,
    rules: {
      access,
    },
  });
  const pub = masterKey.publicKey.pem;
  for (const id of ['web1', 'db1']) {
    made.setKey(id, { state: 'accepted', pub, denied: [] });
    made.grains.set(id, mapOf({ id }));
  }
  made.setKey('new1', { state: 'pending', pub, denied: [] });
  Object.assign(made.ports, {
    pillars: { kept: async (id: string) => (id === 'db1' ? undefined : { data: PILLAR, atMs: 7 }) },
  });
  await made.ports.mines.change('web1', () => mapOf({ 'network.ip_addrs': ['192.0.2.1'] }));
});

async function ask(user: string, read: string, args: Record<string, SaltValue>) {
  return readAs(made, user, read, args);
}

/** What a user gets of a part: its data, `null` for none such, or the name of an error. */
async function part(user: string, name: string, more: Record<string, SaltValue> = {}) {
  const answer = await ask(user, 'minion_part', { id: 'web1', part: name, ...more });
  const error = textOf(mapIn(answer, 'error') ?? mapOf({}), 'name');
  return error ?? mapIn(answer, 'value') ?? null;
}

const NO = 'AuthorizationError';
const PARTS = ['pillar', 'mine', 'schedule', 'beacons'] as const;

describe('who reads a part of a minion', () => {
  test.each(PARTS)('%s: as who may run its function there', async (name) => {
    const got = Object.fromEntries(
      await Promise.all(
        USERS.map(async (user) => {
          const found = await part(user, name);
          return [user, isMap(found) ? 'yes' : found] as const;
        }),
      ),
    );
    // A wheel lists keys, and so sees that the minion is there. The others see none.
    const expected = { anne: NO, rick: null, wanda: NO, webs: 'yes', dbs: null, narrow: NO };
    expect(got).toEqual({ root: 'yes', ...expected });
  });

  test.each(PARTS)('%s: a minion that is not seen is answered as none', async (name) => {
    const none = { id: 'none' };
    for (const user of USERS) expect(await part(user, name, none)).toBeNull();
    expect(await part('webs', name, { id: 'db1' })).toBeNull();
    expect(await part('root', name, { id: 'new1' })).toBeNull();
    expect(asked).toEqual([]);
  });

  test('none is read before its reader is judged', async () => {
    Object.assign(made.ports, {
      pillars: { kept: () => Promise.reject(new Error('read')) },
    });
    expect(await part('anne', 'pillar', { reveal: true })).toBe(NO);
    expect(await part('dbs', 'pillar', { reveal: true })).toBeNull();
  });

  test.each(['grains', 'keys', '__proto__', ''])('a part %j is none', async (name) => {
    expect(await part('root', name)).toBeNull();
  });
});

describe('a pillar', () => {
  test('has its keys and its shape, and no value', async () => {
    const found = await part('webs', 'pillar');
    expect(found).toEqual(mapOf({ data: MASKED, at: 7, jid: null, isMasked: true }));
    expect(toJson(found).json).not.toMatch(/hunter2|5432|bob/);
    expect(await part('webs', 'pillar', { reveal: false })).toEqual(found);
    expect(await part('webs', 'pillar', { reveal: 'true' })).toEqual(found);
    expect(made.audited).toEqual([]);
  });

  test('is shown by a part of it', async () => {
    const at = async (path: string, reveal = true) => {
      const found = await part('webs', 'pillar', { path, reveal });
      return isMap(found) ? found.get('data') : found;
    };
    expect(await at('db:password')).toBe(SECRET);
    expect(await at('users:0:name')).toBe('anne');
    expect(await at('db:password', false)).toBe(MASK);
    expect(await at('users', false)).toEqual(MASKED.get('users'));
    for (const path of ['db:none:x', 'db:', 'users:2', 'users:-1', 'users:length', 'x', '']) {
      expect(await at(path)).toBeNull();
    }
  });

  test('that is not kept is nothing', async () => {
    const nothing = mapOf({ data: null, at: null, jid: null, isMasked: true });
    expect(await part('dbs', 'pillar', { id: 'db1' })).toEqual(nothing);
    expect(await part('dbs', 'pillar', { id: 'db1', path: 'a' })).toBeNull();
    Object.assign(made.ports, { pillars: undefined });
    expect(await part('webs', 'pillar')).toEqual(nothing);
  });

  test('that is revealed is on record, with who, the minion and the place, and no value', async () => {
    const found = await part('webs', 'pillar', { reveal: true, path: 'db' });
    expect(isMap(found) && found.get('data')).toEqual(PILLAR.get('db'));
    expect(made.audited).toMatchObject([
      {
        kind: 'read',
        outcome: 'done',
        principal: 'webs',
        method: 'eauth',
        fun: 'minion_part',
        target: 'web1',
        path: 'db',
        source: 'host1',
        peer: '192.0.2.7',
      },
    ]);
    expect(made.unlimited).toHaveLength(1);
    expect(JSON.stringify(made.audited)).not.toContain(SECRET);
    await part('root', 'pillar', { reveal: true });
    expect(made.audited[1]).toMatchObject({ principal: 'root', target: 'web1' });
    expect(made.audited[1]).not.toHaveProperty('path');
  });

  test('that was not revealed is on record as refused', async () => {
    await part('anne', 'pillar', { reveal: true });
    await part('webs', 'pillar', { reveal: true, id: 'db1' });
    await part('webs', 'pillar', { reveal: true, path: 'x' });
    expect(made.audited.map(({ principal, outcome }) => [principal, outcome])).toEqual([
      ['anne', NO],
      ['webs', 'refused'],
      ['webs', 'refused'],
    ]);
    expect(made.unlimited).toEqual([]);
  });
});

test('a mine is shown as it is stored', async () => {
  const data = mapOf({ 'network.ip_addrs': ['192.0.2.1'] });
  expect(await part('webs', 'mine')).toEqual(mapOf({ data, at: 0, jid: null, isMasked: false }));
});

test('schedule and beacons are what the minion returned last', async () => {
  const data = mapOf({ job1: mapOf({ seconds: 60 }) });
  const newest = mapOf({ data, at: 5_000, jid: JID, isMasked: false });
  expect(await part('webs', 'schedule')).toEqual(newest);
  expect(asked).toEqual([['page_newest_return', mapOf({ id: 'web1', fun: 'schedule.list' })]]);
  const nothing = mapOf({ data: null, at: null, jid: null, isMasked: false });
  expect(await part('webs', 'beacons')).toEqual(nothing);
});

describe('the jobs of a minion', () => {
  const line = (jid: string, principal: string, fun: SaltValue, arg?: SaltValue) =>
    mapOf({ jid, principal, load: mapOf({ fun, arg }) });
  beforeEach(() => {
    jobs = [
      line('1', 'root', 'test.ping', []),
      line('2', 'narrow', 'cmd.run', ['id']),
      line('3', 'root', 'schedule.list', ['x']),
      line('4', 'root', 'schedule.list', ['y']),
      line('5', 'root', 'schedule.list'),
      line('6', 'root', ['test.ping', 'cmd.run'], [[], ['id']]),
    ];
  });
  const jids = async (user: string, id = 'web1') => {
    const value = mapIn(await ask(user, 'minion_jobs', { id, limit: 9 }), 'value');
    return value && (listOf(value, 'jobs') ?? []).map((one) => isMap(one) && textOf(one, 'jid'));
  };

  test('are all for who may list jobs, else its own and those it could have run', async () => {
    const got = Object.fromEntries(
      await Promise.all(USERS.map(async (user) => [user, await jids(user)] as const)),
    );
    expect(got).toEqual({
      root: ['1', '2', '3', '4', '5', '6'],
      anne: ['1'],
      // A runner alone reaches no minion.
      rick: undefined,
      wanda: [],
      webs: ['3', '4', '5'],
      dbs: undefined,
      narrow: ['1', '2', '3'],
    });
  });

  test('are asked for with what judges a limited reader, and no other', async () => {
    await jids('root');
    await jids('webs');
    expect(asked.map(([, args]) => args.get('judged'))).toEqual([undefined, true]);
    const page = mapIn(await ask('webs', 'minion_jobs', { id: 'web1' }), 'value');
    expect(page?.get('next')).toBe(JID);
  });

  test('of a minion that is not seen are none', async () => {
    expect(await jids('webs', 'db1')).toBeUndefined();
    expect(await jids('root', 'none')).toBeUndefined();
    expect(asked).toEqual([]);
  });
});
