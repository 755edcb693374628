import { type KeyActed, keyActedSchema, type KeysPage, keysSchema } from '@brine/api/fleet';
import { fingerprint } from '@brine/crypt';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { JID, usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';
import type { KeyRecord } from '../../fleet/key-record.ts';
import { cursorOf } from '../cursor.ts';

afterEach(closeScenes);

const pem = (text: string): string =>
  `-----BEGIN PUBLIC KEY-----\n${text}\n-----END PUBLIC KEY-----`;

interface Options {
  readonly rights?: readonly SaltValue[];
  readonly enabled?: readonly string[];
  /** Called before the master does what a wheel is for. */
  readonly onWheel?: (load: SaltMap) => SaltValue | undefined;
}

/** A scene with keys of each state; its master acts on them as the key wheel does. */
async function served({ rights, enabled, onWheel = () => undefined }: Options = {}) {
  const { scene, token, ask } = await servedScene({
    ...(enabled === undefined ? {} : { enabled }),
    answer: (load) => {
      const cmd = textOf(load, 'cmd');
      if (cmd === 'brine_rights' && rights !== undefined) {
        return mapOf({ principal: 'alice', acl: [...rights], reach: mapOf({}) });
      }
      if (cmd !== 'wheel') return usualAnswer(load);
      const refusal = onWheel(load);
      if (refusal !== undefined) return refusal;
      wheel(load);
      return mapOf({ tag: `salt/wheel/${JID}`, data: mapOf({ success: true, return: mapOf({}) }) });
    },
  });
  const records = scene.keyRecords;
  const set = (id: string, state: KeyRecord['state'], denied: readonly string[] = []): void => {
    records.set(id, { state, pub: pem(id), denied, at: 1_764_500_000 });
    scene.fleet.setKey(id, { state, hasDenied: denied.length > 0 });
  };
  const wheel = (load: SaltMap): void => {
    const fun = textOf(load, 'fun');
    for (const ids of mapIn(load, 'match')?.values() ?? []) {
      for (const id of Array.isArray(ids) ? ids : []) {
        if (typeof id !== 'string') continue;
        if (fun === 'key.delete_dict') set(id, undefined);
        else set(id, fun === 'key.accept_dict' ? 'accepted' : 'rejected');
      }
    }
  };
  set('web1', 'accepted', [pem('other')]);
  set('new1', 'pending');
  set('new2', 'pending');
  set('bad1', 'rejected');
  set('bad2', undefined, [pem('denied')]);
  const headers = { Authorization: `Bearer ${token}` };
  const list = async (query = '') => {
    const { status, text } = await ask(`/v1/keys${query}`, { headers });
    return { status, json: JSON.parse(text) as KeysPage & { readonly code?: string } };
  };
  const act = async (body: unknown, key?: string) => {
    const named = key === undefined ? headers : { ...headers, 'Idempotency-Key': key };
    const { status, text } = await ask('/v1/keys/act', { method: 'POST', headers: named, body });
    const json = JSON.parse(text) as KeyActed & { readonly code?: string; readonly count?: number };
    return { status, json };
  };
  const wheels = (): SaltMap[] =>
    scene.master.loads.filter((load) => textOf(load, 'cmd') === 'wheel');
  return { scene, list, act, wheels, records };
}

describe('a list of keys', () => {
  test('has each id with its state, and fingerprints in both forms', async () => {
    const { list } = await served();
    const { json } = await list();
    keysSchema.parse(json);
    expect(json.total).toBe(5);
    expect(json.items.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'bad1 rejected',
      'bad2 denied',
      'new1 pending',
      'new2 pending',
      'web1 accepted',
    ]);
    expect(json.items[4]).toEqual({
      id: 'web1',
      state: 'accepted',
      fingerprints: {
        salt3006: fingerprint(pem('web1'), '3006'),
        salt3008: fingerprint(pem('web1'), '3008'),
      },
      denied: [
        {
          salt3006: fingerprint(pem('other'), '3006'),
          salt3008: fingerprint(pem('other'), '3008'),
        },
      ],
      changed: '2025-11-30T10:53:20.000000Z',
    });
    expect(json.items[1]).toMatchObject({ fingerprints: null, denied: [{}] });
  });

  test.each([
    ['?state=pending', ['new1', 'new2']],
    ['?state=denied', ['bad2', 'web1']],
    ['?q=new*', ['new1', 'new2']],
    [`?limit=2&after=${cursorOf(['new1'])}`, ['new2', 'web1']],
  ])('with %s has these', async (query, ids) => {
    const { list } = await served();
    expect((await list(query)).json.items.map(({ id }) => id)).toEqual(ids);
  });

  test.each(['?state=deleted', '?more=1', `?after=${cursorOf([1])}`, '?after=x', '?limit=0'])(
    'with %s is refused',
    async (query) => {
      const { list } = await served();
      expect(await list(query)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
    },
  );

  test.each([[['.*']], [['@runner', '@jobs']], [[mapOf({ '@wheel': ['key.accept'] })]]])(
    'is for callers that may list keys, not for %j',
    async (rights) => {
      const { list, act, wheels } = await served({ rights });
      expect(await list()).toMatchObject({ status: 403, json: { code: 'forbidden' } });
      const body = { act: 'accept', ids: ['new1'], expect: { count: 7 } };
      expect(await act(body)).toMatchObject({ status: 403, json: { code: 'forbidden' } });
      expect(wheels()).toEqual([]);
    },
  );
});

describe('an act on keys', () => {
  test('is done by the wheel with the token of the caller, and has a result for each id', async () => {
    const { act, wheels } = await served();
    const ids = ['new1', 'web1', 'none', 'new1'];
    const { json } = await act({ act: 'accept', ids, expect: { count: 1 } });
    expect(keyActedSchema.parse(json).results).toEqual([
      { id: 'new1', result: 'done' },
      { id: 'web1', result: 'no-key' },
      { id: 'none', result: 'no-key' },
    ]);
    const [load] = wheels();
    expect(load && textOf(load, 'fun')).toBe('key.accept_dict');
    expect(load && textOf(load, 'token')).toBe('abc123');
    expect(load?.get('match')).toEqual(mapOf({ minions_pre: ['new1'] }));
  });

  test('that deletes names each key of an id', async () => {
    const { act, wheels } = await served();
    const ids = ['web1', 'bad2', 'new1'];
    const { json } = await act({ act: 'delete', ids, expect: { count: 3 } });
    expect(json.results.map(({ result }) => result)).toEqual(['done', 'done', 'done']);
    expect(wheels()[0]?.get('match')).toEqual(
      mapOf({ minions: ['web1'], minions_denied: ['web1', 'bad2'], minions_pre: ['new1'] }),
    );
  });

  test('with another count than expected is not done', async () => {
    const { act, wheels } = await served();
    const answer = await act({
      act: 'reject',
      ids: ['new1', 'new2', 'bad1'],
      expect: { count: 3 },
    });
    expect(answer).toMatchObject({ status: 409, json: { code: 'changed', count: 2 } });
    expect(wheels()).toEqual([]);
  });

  test.each([
    ['accept', ['new1', 'new2']],
    ['reject', ['new1', 'new2']],
    ['delete', ['new1', 'bad2']],
  ])('%s that comes again by its name is done once, and answers the same', async (name, ids) => {
    const { act, wheels } = await served();
    const keys = ids.map((id) => (id === 'bad2' ? 'denied' : id));
    const fingerprints = ids.map((id, at) => {
      return { id, fingerprint: fingerprint(pem(keys[at] ?? ''), '3008') };
    });
    const body = { act: name, ids, expect: { count: 2 }, fingerprints };
    const first = await act(body, 'a-name');
    expect(first.json.results).toEqual(ids.map((id) => ({ id, result: 'done' })));
    expect(await act(body, 'a-name')).toEqual(first);
    expect(await act(body)).toMatchObject({ status: 409, json: { code: 'changed', count: 0 } });
    expect(wheels()).toHaveLength(1);
  });

  test('that was done in part is done for the rest', async () => {
    const { act, wheels } = await served();
    await act({ act: 'accept', ids: ['new1'], expect: { count: 1 } });
    const both = { act: 'accept', ids: ['new1', 'new2'], expect: { count: 2 } };
    const { json } = await act(both, 'a-name');
    expect(json.results.map(({ result }) => result)).toEqual(['done', 'done']);
    expect(wheels()[1]?.get('match')).toEqual(mapOf({ minions_pre: ['new2'] }));
  });

  test('that comes again finds another key in its place: it is not done', async () => {
    const { act, wheels } = await served();
    await act({ act: 'accept', ids: ['new1'], expect: { count: 1 } });
    const other = [{ id: 'new1', fingerprint: fingerprint(pem('another'), '3008') }];
    const body = { act: 'accept', ids: ['new1'], expect: { count: 1 }, fingerprints: other };
    expect(await act(body, 'a-name')).toMatchObject({ status: 409, json: { count: 0 } });
    expect(wheels()).toHaveLength(1);
  });

  test('with fingerprints leaves other keys alone', async () => {
    const { act, wheels } = await served();
    const { json } = await act({
      act: 'reject',
      ids: ['new1', 'new2', 'bad1'],
      expect: { count: 2 },
      fingerprints: [
        { id: 'new1', fingerprint: fingerprint(pem('new2'), '3008') },
        { id: 'new2', fingerprint: fingerprint(pem('new2'), '3006') },
      ],
    });
    expect(json.results).toEqual([
      { id: 'new1', result: 'other-key' },
      { id: 'new2', result: 'done' },
      { id: 'bad1', result: 'no-key' },
    ]);
    expect(wheels()[0]?.get('match')).toEqual(mapOf({ minions_pre: ['new2'] }));
    const { json: none } = await act({
      act: 'accept',
      ids: ['new1'],
      expect: { count: 1 },
      fingerprints: [],
    });
    expect(none.results).toEqual([{ id: 'new1', result: 'other-key' }]);
    expect(wheels()).toHaveLength(1);
  });

  test('that the master does not do is no success', async () => {
    const unchanged = await served({
      onWheel: () => mapOf({ tag: '', data: mapOf({ success: true, return: mapOf({}) }) }),
    });
    const body = { act: 'accept', ids: ['new1'], expect: { count: 1 } };
    const { json } = await unchanged.act(body);
    expect(json.results).toEqual([{ id: 'new1', result: 'unchanged' }]);
    const refused = await served({
      onWheel: () =>
        mapOf({ error: mapOf({ name: 'TokenAuthenticationError', message: 'no right' }) }),
    });
    expect(await refused.act(body)).toMatchObject({ status: 403, json: { code: 'forbidden' } });
    const failed = await served({
      onWheel: () => mapOf({ tag: '', data: mapOf({ success: false, return: 'secret' }) }),
    });
    const { status, json: problem } = await failed.act(body);
    expect({ status, code: problem.code }).toEqual({ status: 500, code: 'fault' });
    expect(JSON.stringify(problem)).not.toContain('secret');
  });

  test('needs the client wheel', async () => {
    const { act, wheels } = await served({ enabled: ['local', 'runner'] });
    const body = { act: 'accept', ids: ['new1'], expect: { count: 1 } };
    expect(await act(body)).toMatchObject({ status: 403, json: { code: 'forbidden' } });
    expect(wheels()).toEqual([]);
  });

  test.each([
    { act: 'accept_all', ids: ['a'], expect: { count: 1 } },
    { act: 'accept', ids: [], expect: { count: 0 } },
    { act: 'accept', ids: ['a'] },
    { act: 'accept', ids: '*', expect: { count: 1 } },
    { act: 'accept', ids: ['a'], expect: { count: 1 }, token: 'x' },
    { act: 'accept', ids: ['a'], expect: { count: 1 }, fingerprints: { a: 'x' } },
    { act: 'accept', ids: ['a'.repeat(256)], expect: { count: 1 } },
    { act: 'accept', ids: Array.from({ length: 1_001 }, () => 'a'), expect: { count: 1 } },
  ])('in another form is refused', async (body) => {
    const { act, wheels } = await served();
    expect(await act(body)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
    expect(wheels()).toEqual([]);
  });

  test('names an id exactly, whatever it looks like', async () => {
    const { act, wheels, records } = await served();
    records.set('__proto__', { state: 'pending', pub: pem('x'), denied: [], at: undefined });
    const { json } = await act({ act: 'accept', ids: ['*', '__proto__'], expect: { count: 1 } });
    expect(json.results).toEqual([
      { id: '*', result: 'no-key' },
      { id: '__proto__', result: 'done' },
    ]);
    const match = wheels()[0]?.get('match') ?? null;
    expect(isMap(match) && match.get('minions_pre')).toEqual(['__proto__']);
  });
});
