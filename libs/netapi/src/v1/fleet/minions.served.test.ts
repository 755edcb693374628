import type { MinionShown, MinionsPage } from '@brine/api/fleet';
import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { NOWHERE, usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';
import { cursorOf } from '../cursor.ts';

afterEach(closeScenes);

const AT = 1_764_500_000;

/** A scene with a small fleet, and how a caller with these rights asks for it. */
async function served(
  rights?: readonly SaltValue[],
  reach: Readonly<Record<string, string[]>> = {},
) {
  const answer = (load: SaltMap) => {
    if (rights === undefined || textOf(load, 'cmd') !== 'brine_rights') return usualAnswer(load);
    return mapOf({ principal: 'alice', acl: [...rights], reach: mapOf(reach) });
  };
  const { scene, token, ask } = await servedScene({ answer });
  const { fleet } = scene;
  const add = (id: string, os: string, version: string, present: boolean, at: number): void => {
    fleet.setKey(id, { state: 'accepted', hasDenied: false });
    fleet.setGrains(id, [os, '12', 'Linux', version]);
    fleet.setPresence(id, { present, since: AT });
    fleet.seen(id, 'return', AT + at);
  };
  add('db1', 'Debian', '3006.30', true, 1);
  add('web1', 'Debian', '3006.5', true, 3);
  add('web2', 'Ubuntu', '3008.2', false, 2);
  fleet.stateRun('web1', { jid: '20261130120000000000', at: AT, hasFailed: true });
  fleet.setKey('new1', { state: 'pending', hasDenied: false });
  fleet.setKey('bad1', { state: undefined, hasDenied: true });
  const headers = { Authorization: `Bearer ${token}` };
  const get = async (path: string) => {
    const { status, text } = await ask(`/v1${path}`, { headers });
    return { status, json: JSON.parse(text) as MinionsPage & { readonly code?: string } };
  };
  const idsOf = async (query: string): Promise<readonly string[]> =>
    (await get(`/minions${query}`)).json.items.map(({ id }) => id);
  return { scene, get, idsOf, fleet };
}

describe('a caller with all rights', () => {
  test('sees each minion with a key', async () => {
    const { get } = await served();
    const { json, status } = await get('/minions?facets=true');
    expect(status).toBe(200);
    expect(json.items.map(({ id }) => id)).toEqual(['bad1', 'db1', 'new1', 'web1', 'web2']);
    expect(json).toMatchObject({ total: 5, next: null, asOf: NOWHERE });
    expect(json.items[3]).toEqual({
      id: 'web1',
      key: 'accepted',
      hasDenied: false,
      present: true,
      since: '2025-11-30T10:53:20.000000Z',
      seen: { at: '2025-11-30T10:53:23.000000Z', by: 'return' },
      grains: { os: 'Debian', osrelease: '12', kernel: 'Linux', saltversion: '3006.5' },
      stateRun: {
        jid: '20261130120000000000',
        at: '2025-11-30T10:53:20.000000Z',
        result: 'failed',
      },
    } satisfies MinionShown);
    expect(json.facets).toMatchObject({
      key: { accepted: 3, pending: 1, rejected: 0, denied: 1 },
      present: { yes: 2, no: 1 },
    });
    expect(json.facets?.grains[3]).toEqual({
      name: 'saltversion',
      values: ['3006.5', '3006.30', '3008.2'].map((value) => ({ value, count: 1 })),
      others: 0,
    });
  });

  test.each([
    ['?q=web', ['web1', 'web2']],
    ['?q=*1', ['bad1', 'db1', 'new1', 'web1']],
    ['?key=pending&key=denied', ['bad1', 'new1']],
    ['?present=false', ['web2']],
    ['?version=3006.5&version=3008.2', ['web1', 'web2']],
    ['?os=Debian&grain=saltversion:3006.30', ['db1']],
    ['?grain=os:Debian&grain=os:Ubuntu&present=true', ['db1', 'web1']],
    ['?silentSince=2025-11-30T10:53:22Z&key=accepted', ['db1']],
    ['?silentSince=1h', ['bad1', 'db1', 'new1', 'web1', 'web2']],
    ['?key=accepted&sort=-seen', ['web1', 'web2', 'db1']],
    ['?key=accepted&sort=saltversion', ['web1', 'db1', 'web2']],
    ['?os=__proto__', []],
    ['?offset=3', ['web1', 'web2']],
    ['?offset=1&limit=2&sort=-id', ['web1', 'new1']],
    ['?offset=5', []],
    ['?offset=10000000', []],
  ])('with %s sees these', async (query, expected) => {
    const { idsOf } = await served();
    expect(await idsOf(query)).toEqual(expected);
  });

  test.each(['id', '-id', 'seen', '-os', 'present', '-stateRun', 'saltversion', 'key'])(
    'reads all pages by %s without a gap',
    async (sort) => {
      const { get, idsOf } = await served();
      const whole = await idsOf(`?sort=${sort}`);
      const read: string[] = [];
      let after = '';
      for (;;) {
        const { json } = await get(`/minions?sort=${sort}&limit=2${after}`);
        read.push(...json.items.map(({ id }) => id));
        if (json.next === null) break;
        after = `&after=${json.next}`;
      }
      expect(read).toEqual(whole);
      expect(whole).toHaveLength(5);
      const jumped = await Promise.all(
        [0, 2, 4].map((n) => idsOf(`?sort=${sort}&limit=2&offset=${n}`)),
      );
      expect(jumped.flat()).toEqual(whole);
    },
  );
});

test.each([
  '?nothing=1',
  '?q=',
  '?q=[a-z]',
  '?key=deleted',
  '?present=1',
  '?grain=secret:1',
  '?grain=os',
  '?silentSince=yesterday',
  '?sort=pillar',
  '?limit=501',
  '?facets=yes',
  '?offset=-1',
  '?offset=10000001',
  '?offset=1.5',
  `?offset=1&after=${cursorOf(['id', 0, 'web1'])}`,
  `?${Array.from({ length: 33 }, () => 'os=x').join('&')}`,
  '?after=!',
  '?after=abc',
  `?after=${cursorOf(['id', 'x', 'y'])}`,
  `?after=${cursorOf(['-id', 0, 'web1'])}`,
  `?sort=os&after=${cursorOf(['os', 0, 'web1'])}`,
  `?sort=os&after=${cursorOf(['saltversion', 'x', 'web1'])}`,
  `?after=${cursorOf(['id', 0])}`,
])('a list with %s is refused', async (query) => {
  const { get } = await served();
  expect(await get(`/minions${query}`)).toMatchObject({
    status: 400,
    json: { code: 'bad-request' },
  });
});

describe('a narrow caller', () => {
  const WEBS = [mapOf({ 'web*': ['test.ping'] })];
  const REACH = { 'web*': ['web1', 'web2'] };

  test('sees accepted minions that it may target, without grains and runs', async () => {
    const { get } = await served(WEBS, REACH);
    const { json } = await get('/minions?facets=true');
    expect(json.items.map(({ id }) => id)).toEqual(['web1', 'web2']);
    expect(json.total).toBe(2);
    for (const { grains, stateRun } of json.items) {
      expect(Object.values(grains)).toEqual([null, null, null, null]);
      expect(stateRun).toBeNull();
    }
    expect(json.facets).toMatchObject({
      key: { accepted: 2, pending: 0, rejected: 0, denied: 0 },
      present: { yes: 1, no: 1 },
      grains: [{ values: [] }, { values: [] }, { values: [] }, { values: [] }],
    });
  });

  test('learns no grain by a filter, an order or a cursor', async () => {
    const { get, idsOf } = await served(WEBS, REACH);
    expect(await idsOf('?os=Debian')).toEqual([]);
    expect(await idsOf('?version=3006.5&version=3008.2')).toEqual([]);
    expect(await idsOf('?sort=-saltversion')).toEqual(['web1', 'web2']);
    const { json } = await get('/minions?sort=-saltversion&limit=1');
    expect(json.next).toBe(cursorOf(['-saltversion', '', 'web1']));
    const after = cursorOf(['-saltversion', '3007', 'web0']);
    expect(await idsOf(`?sort=-saltversion&after=${after}`)).toEqual(['web1', 'web2']);
  });

  test('learns no other minion by an order, a cursor or a number', async () => {
    const { get, idsOf } = await served(WEBS, REACH);
    expect(await idsOf(`?after=${cursorOf(['id', 0, 'aaa'])}`)).toEqual(['web1', 'web2']);
    expect(await idsOf(`?after=${cursorOf(['id', 0, 'web1'])}`)).toEqual(['web2']);
    expect((await get('/minions?q=db1')).json).toMatchObject({ items: [], total: 0, next: null });
    expect((await get('/minions?key=pending')).json).toMatchObject({ items: [], total: 0 });
    expect((await get('/minions?sort=-id&limit=2')).json.next).toBeNull();
  });

  test('with grains on some minions sees those of these alone', async () => {
    const { get, idsOf } = await served(
      [mapOf({ 'web*': ['test.ping'] }), mapOf({ web1: ['grains.*'] })],
      {
        'web*': ['web1', 'web2'],
        web1: ['web1'],
      },
    );
    const { json } = await get('/minions?facets=true');
    expect(json.items.map(({ grains }) => grains.os)).toEqual(['Debian', null]);
    expect(json.facets?.grains[0]?.values).toEqual([{ value: 'Debian', count: 1 }]);
    expect(await idsOf('?os=Debian&os=Ubuntu')).toEqual(['web1']);
  });

  test('with state.apply alone does not see how a highstate ended', async () => {
    const rights = (fun: string) => [mapOf({ 'web*': [fun] })];
    const runOf = async (fun: string) => {
      const { get } = await served(rights(fun), REACH);
      return (await get('/minions')).json.items[0]?.stateRun?.result;
    };
    expect(await runOf('state.apply')).toBeUndefined();
    expect(await runOf('state.*')).toBe('failed');
  });

  test('with the list of keys sees all minions with a key', async () => {
    const { idsOf } = await served([mapOf({ '@wheel': ['key.list_all'] })]);
    expect(await idsOf('')).toEqual(['bad1', 'db1', 'new1', 'web1', 'web2']);
  });

  test('with runners alone sees none', async () => {
    const { get } = await served(['@runner', '@jobs']);
    expect((await get('/minions')).json).toMatchObject({ items: [], total: 0 });
  });
});

test('a fleet that is not whole yet is no answer', async () => {
  const { scene, get } = await served();
  const { NetapiError } = await import('../../errors.ts');
  Object.assign(scene.v1.fleet, {
    whole: async () => {
      throw new NetapiError(503, 'The minions are being read.', { retryAfter: 5 });
    },
  });
  expect(await get('/minions')).toMatchObject({
    status: 503,
    json: { code: 'no-master', retryable: true },
  });
});

test('hostile grains and ids are data in an answer', async () => {
  const { fleet, get } = await served();
  const hostile = '<img src=x onerror=alert(1)>"\u202e\u0000';
  fleet.setKey('__proto__', { state: 'accepted', hasDenied: false });
  fleet.setGrains('__proto__', [hostile, '', '', '']);
  const { json } = await get(`/minions?os=${encodeURIComponent(hostile)}&facets=true`);
  expect(json.items.map(({ id, grains }) => [id, grains.os])).toEqual([['__proto__', hostile]]);
});
