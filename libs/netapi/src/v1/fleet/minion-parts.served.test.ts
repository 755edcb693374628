import { minionJobsPageSchema, minionPartSchema } from '@brine/api/fleet';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { JID, usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, type Sent, served as servedScene } from '../../../test/served-scene.ts';

afterEach(closeScenes);

interface Given {
  readonly read?: SaltValue;
  readonly rights?: readonly SaltValue[];
  readonly publish?: (load: SaltMap) => SaltValue;
}

/** A scene whose workers answer each read with this value, or with this error. */
async function served({ read = null, rights, publish = usualAnswer }: Given = {}) {
  const answer = (load: SaltMap): SaltValue => {
    const cmd = textOf(load, 'cmd');
    if (cmd === 'brine_read') return mapOf({ value: read });
    if (cmd === 'publish') return publish(load);
    if (rights === undefined || cmd !== 'brine_rights') return usualAnswer(load);
    return mapOf({ principal: 'alice', acl: [...rights], reach: mapOf({ 'web*': ['web1'] }) });
  };
  const { scene, token, ask: askScene } = await servedScene({ answer });
  for (const id of ['web1', 'db1', 'a b/"']) {
    scene.fleet.setKey(id, { state: 'accepted', hasDenied: false });
  }
  const ask = async (path: string, { headers = {}, ...sent }: Sent = {}) => {
    const known = { Authorization: `Bearer ${token}`, ...headers };
    const found = await askScene(`/v1/minions/${path}`, { ...sent, headers: known });
    return { ...found, json: JSON.parse(found.text || '{}') as Record<string, unknown> };
  };
  const refresh = (path: string, headers: Sent['headers'] = {}) =>
    ask(`${path}/refresh`, { method: 'POST', headers });
  const loads = (cmd: string) => scene.master.loads.filter((one) => textOf(one, 'cmd') === cmd);
  const argsRead = () => loads('brine_read').map((load) => mapIn(load, 'args'));
  return { scene, ask, refresh, loads, argsRead };
}

const AT = Date.UTC(2026, 10, 29, 20, 45);
const SHOWN = ['pillar', 'mine', 'schedule', 'beacons'] as const;
const NOT_FOUND = { status: 404, json: { code: 'not-found' } };

describe('a part of a minion', () => {
  test.each(SHOWN)('is read by a worker with the token of the caller: %s', async (part) => {
    const data = mapOf({ a: [1, null], raw: Buffer.from([0xff]) });
    const { ask, argsRead, loads } = await served({
      read: mapOf({ data, at: AT, jid: JID, isMasked: part === 'pillar' }),
    });
    const { json, headers } = await ask(`web1/${part}`);
    expect(minionPartSchema.parse(json)).toEqual({
      data: { a: [1, null], raw: { $bytes: '/w==' } },
      updated: '2026-11-29T20:45:00.000000Z',
      jid: JID,
      masked: part === 'pillar',
    });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.has('etag')).toBe(false);
    await ask(encodeURIComponent('a b/"') + `/${part}`);
    expect(argsRead()).toEqual([mapOf({ id: 'web1', part }), mapOf({ id: 'a b/"', part })]);
    expect(textOf(loads('brine_read')[0] ?? mapOf({}), 'token')).toBe('abc123');
  });

  test.each(SHOWN)('that is not known has no data: %s', async (part) => {
    const nothing = mapOf({ data: null, at: null, jid: null, isMasked: false });
    const { ask } = await served({ read: nothing });
    const { json } = await ask(`web1/${part}`);
    expect(json).toEqual({ data: null, updated: null, jid: null, masked: false });
  });

  test.each(SHOWN)('is refused as a worker refuses it: %s', async (part) => {
    const hidden = await served();
    expect(await hidden.ask(`web1/${part}`)).toMatchObject(NOT_FOUND);
    const { ask, scene } = await served();
    const error = mapOf({ name: 'AuthorizationError', message: 'm' });
    scene.master.answer = (load) =>
      textOf(load, 'cmd') === 'brine_read' ? mapOf({ error }) : usualAnswer(load);
    expect(await ask(`web1/${part}`)).toMatchObject({ status: 403, json: { code: 'forbidden' } });
  });

  test.each([
    'web1/pillar?reveal=maybe',
    'web1/pillar?path=',
    'web1/pillar?path=<1025>',
    'web1/pillar?more=1',
    'web1/mine?reveal=true',
    'web1/schedule?path=a',
    '<256>/beacons',
    'web1/jobs?state=lost',
    'web1/jobs?limit=501',
    'web1/jobs?after=x',
    'web1/jobs?minion=db1',
  ])('with a parameter that does not fit is refused: %s', async (path) => {
    const { ask, argsRead } = await served();
    const whole = path.replace(/<(\d+)>/, (_, length) => 'x'.repeat(Number(length)));
    expect(await ask(whole)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
    expect(argsRead()).toEqual([]);
  });

  test.each(['web1/other', 'web1/other/refresh', 'web1/jobs/refresh', 'web1/key'])(
    'of another name is none: %s',
    async (path) => {
      const { ask } = await served();
      expect(await ask(path)).toMatchObject({ status: 404 });
    },
  );
});

test('a pillar is revealed only where that is asked for', async () => {
  const { ask, argsRead } = await served();
  await ask('web1/pillar?reveal=true&path=db:password');
  await ask('web1/pillar?reveal=false');
  expect(argsRead()).toEqual([
    mapOf({ id: 'web1', part: 'pillar', reveal: true, path: 'db:password' }),
    mapOf({ id: 'web1', part: 'pillar', reveal: false }),
  ]);
});

describe('the jobs of a minion', () => {
  test('are lines with its part, and a cursor', async () => {
    const line = mapOf({
      jid: JID,
      fun: ['state.apply'],
      principal: 'root',
      publishedAt: AT,
      state: 'failed',
      retcode: 2,
      receivedAt: AT + 1_000,
    });
    const open = mapOf({ jid: JID, fun: ['x'], publishedAt: AT, state: 'waiting', retcode: null });
    const { ask, argsRead } = await served({ read: mapOf({ jobs: [line, open], next: JID }) });
    const { json } = await ask('web1/jobs?fun=state.*&state=failed&limit=2');
    const page = minionJobsPageSchema.parse(json);
    expect(page.items).toEqual([
      {
        jid: JID,
        fun: ['state.apply'],
        published: '2026-11-29T20:45:00.000000Z',
        state: 'failed',
        retcode: 2,
        returned: '2026-11-29T20:45:01.000000Z',
      },
      {
        jid: JID,
        fun: ['x'],
        published: '2026-11-29T20:45:00.000000Z',
        state: 'waiting',
        retcode: null,
        returned: null,
      },
    ]);
    await ask(`web1/jobs?after=${page.next}`);
    expect(argsRead()).toEqual([
      mapOf({ id: 'web1', fun: 'state.*', state: 'failed', limit: 2 }),
      mapOf({ id: 'web1', limit: 50, before: JID }),
    ]);
  });

  test('of a minion that is not seen are not found', async () => {
    const { ask } = await served();
    expect(await ask('web1/jobs')).toMatchObject(NOT_FOUND);
  });
});

describe('a refresh', () => {
  const keywords = (given: Record<string, SaltValue>) => [mapOf({ __kwarg__: true, ...given })];
  test.each([
    ['grains', 'saltutil.refresh_grains', []],
    ['pillar', 'saltutil.refresh_pillar', []],
    ['mine', 'mine.update', []],
    ['schedule', 'schedule.list', keywords({ show_all: true, return_yaml: false })],
    ['beacons', 'beacons.list', keywords({ return_yaml: false })],
  ])('of %s publishes %s there, as its caller', async (part, fun, arg) => {
    const { refresh, loads } = await served();
    const begun = await refresh(`web1/${part}`, { 'Idempotency-Key': 'k1' });
    expect(begun).toMatchObject({ status: 202, json: { jid: JID } });
    expect(begun.headers.get('location')).toBe(`/v1/jobs/${JID}`);
    const [load = mapOf({})] = loads('publish');
    expect(load.get('tgt')).toEqual(['web1']);
    expect(load.get('tgt_type')).toBe('list');
    expect(load.get('fun')).toBe(fun);
    expect(load.get('arg')).toEqual(arg);
    expect(mapIn(load, 'kwargs')).toEqual(mapOf({ token: 'abc123' }));
    expect(textOf(mapIn(load, 'brine_repeatable') ?? mapOf({}), 'key')).toBe('k1');
    expect(load.has('key')).toBe(false);
  });

  test('of a minion that is not seen is not found, and publishes nothing', async () => {
    const { refresh, loads } = await served({ rights: [mapOf({ 'web*': ['test.ping'] })] });
    for (const id of ['db1', 'none', 'web2']) {
      expect(await refresh(`${id}/pillar`)).toMatchObject(NOT_FOUND);
    }
    expect(loads('publish')).toEqual([]);
  });

  test('without the right to its function is refused by the worker', async () => {
    const error = mapOf({ name: 'AuthorizationError', message: 'm' });
    const { refresh } = await served({
      rights: [mapOf({ 'web*': ['test.ping'] })],
      publish: () => mapOf({ error }),
    });
    expect(await refresh('web1/mine')).toMatchObject({ status: 403, json: { code: 'forbidden' } });
  });

  test('takes no parameter', async () => {
    const { ask, loads } = await served();
    const answer = await ask('web1/pillar/refresh?wait=1', { method: 'POST' });
    expect(answer).toMatchObject({ status: 400, json: { code: 'bad-request' } });
    expect(loads('publish')).toEqual([]);
  });
});
