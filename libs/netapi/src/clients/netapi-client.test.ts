import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { ApiScene, JID, published, type SceneOptions, usualAnswer } from '../../test/api-scene.ts';
import { NetapiError, UnexpectedError } from '../errors.ts';
import { CLIENTS, lowOf } from './low.ts';

const PEER = { address: '192.0.2.1' };

/** Runs one chunk with a token, and shows the whole result. */
async function run(scene: ApiScene, fields: Readonly<Record<string, SaltValue>>) {
  const result = await scene.client.run(lowOf(mapOf(fields), { token: 'abc123' }, CLIENTS), PEER);
  if (result.kind === 'value') return result.value;
  const all: [string, SaltValue][] = [];
  for await (const { id, value } of result.answers) all.push([id, value]);
  return all;
}

/** A scene whose minions return as soon as they are asked. */
function sceneOf(
  returns: Readonly<Record<string, SaltValue>>,
  options: SceneOptions = {},
  silent: readonly string[] = [],
): ApiScene {
  const scene: ApiScene = new ApiScene({
    ...options,
    answer: (load) => {
      if (load.get('cmd') !== 'publish') return usualAnswer(load);
      if (load.get('fun') === 'saltutil.find_job') return published([]);
      setImmediate(() => {
        for (const [id, value] of Object.entries(returns)) scene.live.returns(id, value);
      });
      return published([...Object.keys(returns), ...silent]);
    },
  });
  return scene;
}

const loadOf = (scene: ApiScene, cmd: string): SaltMap =>
  scene.master.loads.find((load) => textOf(load, 'cmd') === cmd) ?? mapOf({});

describe('local', () => {
  test('gives what minions return, and leaves no listener', async () => {
    const scene = sceneOf({ web1: 1, web2: 'x' });
    const given = await run(scene, { client: 'local', tgt: '*', fun: 'test.ping' });
    expect(given).toEqual([
      ['web1', 1],
      ['web2', 'x'],
    ]);
    expect(scene.live.listeners.size).toBe(0);
  });

  test('with full_return gives the parts of each return', async () => {
    const scene = sceneOf({ web1: 1 });
    const call = { client: 'local', tgt: '*', fun: 'test.ping', full_return: true };
    const [[, value] = ['', null]] = (await run(scene, call)) as [string, SaltMap][];
    expect(Object.fromEntries(value as Map<string, SaltValue>)).toMatchObject({
      ret: 1,
      retcode: 0,
      jid: JID,
    });
  });

  test.each([
    [true, false, expect.stringContaining('Minion did not return. [No response]')],
    [false, false, false],
    [false, true, false],
    [true, true, expect.objectContaining({})],
  ] as const)(
    'shows a silent minion as text: %s, with full_return: %s',
    async (silentText, full_return, shown) => {
      const scene = sceneOf({ web1: 1 }, { silentText }, ['web2']);
      const call = { client: 'local', tgt: '*', fun: 'test.ping', full_return, timeout: 0.05 };
      const given = (await run(scene, call)) as [string, SaltValue][];
      expect(new Map(given).get('web2')).toEqual(shown);
      if (silentText && full_return) {
        const value = new Map(given).get('web2') as SaltMap;
        expect(value.get('retcode')).toBe(1);
      }
    },
  );

  test('passes keywords and numbers of jobs as Salt does', async () => {
    const scene = sceneOf({ web1: 1 });
    await run(scene, {
      client: 'local',
      tgt: ['web1'],
      tgt_type: 'list',
      fun: 'saltutil.find_job',
      arg: [20261129204500123456n, 5, 'x'],
      kwarg: mapOf({ __proto__x: 1, name: 'y' }),
    }).catch(() => undefined);
    const load = loadOf(scene, 'publish');
    expect(load.get('arg')).toEqual([
      '20261129204500123456',
      5,
      'x',
      mapOf({ __kwarg__: true, __proto__x: 1, name: 'y' }),
    ]);
    expect(load.get('tgt_type')).toBe('list');
  });

  test('takes the old name of tgt_type', async () => {
    const scene = sceneOf({ web1: 1 });
    await run(scene, { client: 'local', tgt: 'web1', expr_form: 'list', fun: 'test.ping' });
    expect(loadOf(scene, 'publish').get('tgt_type')).toBe('list');
  });

  test.each([
    { fun: 'test.ping' },
    { tgt: '*' },
    { tgt: 5, fun: 'test.ping' },
    { tgt: '*', fun: null },
    { tgt: [1], fun: 'test.ping' },
    { tgt: '*', fun: 'test.ping', tgt_type: 7 },
  ] as Readonly<Record<string, SaltValue>>[])('%j is a fault of the caller', async (fields) => {
    const scene = sceneOf({});
    await expect(run(scene, { client: 'local', ...fields })).rejects.toThrow(UnexpectedError);
    expect(scene.live.listeners.size).toBe(0);
    expect(scene.master.loads).toEqual([]);
  });

  test('that matches no minion is an empty map, and leaves no listener', async () => {
    const scene = new ApiScene({ answer: () => published([]) });
    expect(await run(scene, { client: 'local', tgt: 'x', fun: 'test.ping' })).toEqual(mapOf({}));
    expect(scene.live.listeners.size).toBe(0);
  });

  const REFUSALS: readonly (readonly [string, number])[] = [
    ['AuthorizationError', 401],
    ['EauthAuthenticationError', 401],
    ['SaltInvocationError', 400],
  ];

  test.each(REFUSALS)('refused with %s is %i, and leaves no listener', async (name, status) => {
    const answer = () => mapOf({ error: mapOf({ name, message: 'no' }) });
    const scene = new ApiScene({ answer });
    for (const client of ['local', 'local_async', 'local_subset', 'local_batch']) {
      const refused = run(scene, { client, tgt: '*', fun: 'test.ping' });
      await expect(refused).rejects.toMatchObject({ status });
    }
    expect(scene.live.listeners.size).toBe(0);
  });

  test('without a master is 503, and leaves no listener', async () => {
    const scene = new ApiScene();
    scene.master.expected = false;
    const refused = run(scene, { client: 'local', tgt: '*', fun: 'test.ping' });
    await expect(refused).rejects.toMatchObject({ status: 503, retryAfter: 5 });
    expect(scene.live.listeners.size).toBe(0);
  });
});

test('local_async gives the job and the minions', async () => {
  const scene = sceneOf({ web1: 1 });
  const given = await run(scene, { client: 'local_async', tgt: '*', fun: 'test.ping' });
  expect(given).toEqual(mapOf({ jid: JID, minions: ['web1'] }));
  expect(scene.live.listeners.size).toBe(0);
});

test('local_subset runs on some of the minions that have the function', async () => {
  const scene = sceneOf({ web1: ['test.ping'], web2: ['other.fun'], web3: ['test.ping'] });
  await run(scene, {
    client: 'local_subset',
    tgt: '*',
    fun: 'test.ping',
    subset: 1,
    timeout: 0.05,
  });
  const publishes = scene.master.loads.filter((load) => load.get('cmd') === 'publish');
  expect(publishes.map((load) => load.get('fun')).slice(0, 2)).toEqual([
    'sys.list_functions',
    'test.ping',
  ]);
  const tgt = publishes[1]?.get('tgt') as string[];
  expect(tgt).toHaveLength(1);
  expect(['web1', 'web3']).toContain(tgt[0]);
  expect(scene.live.listeners.size).toBe(0);
});

/** A scene whose runs end with a return. */
function runs(returns: SaltValue, options: SceneOptions = {}): ApiScene {
  const scene: ApiScene = new ApiScene({
    ...options,
    answer: (load) => {
      if (load.get('cmd') === 'runner') {
        scene.live.fire('salt/run/20261129204500999999/ret', { return: 'of another run' });
        scene.live.fire(`salt/run/${JID}/ret`, { return: returns, user: 'alice' });
      }
      return usualAnswer(load);
    },
  });
  return scene;
}

describe('runner', () => {
  test('gives what its own run returns, also when that comes before the answer', async () => {
    const scene = runs(mapOf({ a: 1 }));
    expect(await run(scene, { client: 'runner', fun: 'a.b' })).toEqual(mapOf({ a: 1 }));
    expect(scene.live.listeners.size).toBe(0);
  });

  test('with full_return gives its event', async () => {
    const given = await run(runs(1), { client: 'runner', fun: 'a.b', full_return: true });
    expect(given).toEqual(
      mapOf({ tag: `salt/run/${JID}/ret`, data: mapOf({ return: 1, user: 'alice' }) }),
    );
  });

  test('that takes too long is 504, and leaves no listener', async () => {
    const scene = new ApiScene();
    const late = run(scene, { client: 'runner', fun: 'a.b', timeout: 0 });
    await expect(late).rejects.toMatchObject({ status: 504 });
    expect(scene.live.listeners.size).toBe(0);
  });

  test.each(['x', -1, Number.NaN, mapOf({}), '1e999'] as SaltValue[])(
    'with the timeout %s is a fault of the caller, and leaves no listener',
    async (timeout) => {
      const scene = new ApiScene();
      const refused = run(scene, { client: 'runner', fun: 'a.b', timeout });
      await expect(refused).rejects.toThrow(UnexpectedError);
      expect(scene.live.listeners.size).toBe(0);
    },
  );

  test('has name=value texts, kwarg and other fields as keywords', async () => {
    const scene = runs(1);
    await run(scene, {
      client: 'runner',
      fun: 'a.b',
      arg: [1, 'x=2', 'y==z', mapOf({ __kwarg__: true, w: 3 }), '[1, 2]', 'http://h/?q=1'],
      kwarg: mapOf({ k: 'v' }),
      extra: true,
      username: 'anne',
      timeout: 60,
      __proto__x: 1,
    });
    const load = loadOf(scene, 'runner');
    expect(load.get('kwarg')).toEqual(
      mapOf({
        kwarg: mapOf({ x: 2, w: 3, k: 'v', extra: true, __proto__x: 1 }),
        arg: [1, 'y==z', [1, 2], 'http://h/?q=1'],
      }),
    );
    expect(load.get('token')).toBe('abc123');
    expect([load.get('username'), load.get('fun')]).toEqual(['anne', 'a.b']);
  });

  test.each([
    [{ fun: 5 }, UnexpectedError],
    [{}, NetapiError],
    [{ fun: 'a.b', kwarg: ['x'] }, UnexpectedError],
    [{ fun: 'a.b', arg: ['[ '.repeat(200_000)] }, NetapiError],
  ])('case %# is a fault of the caller', async (fields, error) => {
    const scene = runs(1);
    const low = { client: 'runner', ...(fields as Readonly<Record<string, SaltValue>>) };
    await expect(run(scene, low)).rejects.toThrow(error);
    expect(scene.live.listeners.size).toBe(0);
  });

  test('that can not begin leaves no listener', async () => {
    const error = mapOf({ name: 'AuthorizationError', message: 'no' });
    const scene = new ApiScene({ answer: () => mapOf({ error }) });
    const refused = run(scene, { client: 'runner', fun: 'a.b' });
    await expect(refused).rejects.toThrow(NetapiError);
    expect(scene.live.listeners.size).toBe(0);
  });
});

describe('wheel', () => {
  test('has its arguments beside its name, and no user or key of the caller', async () => {
    const scene = new ApiScene();
    await run(scene, { client: 'wheel', fun: 'key.accept', match: 'x', user: 'root', key: 'k' });
    const load = loadOf(scene, 'wheel');
    expect(Object.fromEntries(load as Map<string, SaltValue>)).toEqual({
      cmd: 'wheel',
      fun: 'key.accept',
      match: 'x',
      token: 'abc123',
    });
  });

  test('can not name another command of the master', async () => {
    const scene = new ApiScene();
    await run(scene, { client: 'wheel', fun: 'key.list_all', cmd: 'publish' });
    expect(scene.master.loads.map((load) => load.get('cmd'))).toEqual(['wheel']);
  });

  test('wheel_async alone does not wait', async () => {
    const scene = new ApiScene();
    await run(scene, { client: 'wheel_async', fun: 'key.list_all' });
    expect(loadOf(scene, 'wheel').get('brine_async')).toBe(true);
    const other = new ApiScene();
    await run(other, { client: 'wheel', fun: 'key.list_all', brine_async: true });
    expect(loadOf(other, 'wheel').get('brine_async')).toBeUndefined();
  });
});

test('requests of one call have ids of their own, which no other call has', async () => {
  const scene = runs(1);
  for (let call = 0; call < 20; call += 1) {
    await run(scene, { client: 'runner_async', fun: 'a.b' });
    await run(scene, { client: 'wheel', fun: 'a.b' });
  }
  expect(new Set(scene.master.ids).size).toBe(40);
});
