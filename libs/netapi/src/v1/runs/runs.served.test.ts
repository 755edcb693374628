// Runs of functions of the master, and batches.
import { batchesSchema, batchSchema, runSchema, runsSchema } from '@brine/api/runs';
import { mapIn, mapOf, SaltFloat, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { JID } from '../../../test/api-scene.ts';
import { runnerScene, SIX } from '../../../test/runner-scene.ts';
import { closeScenes } from '../../../test/served-scene.ts';
import { cursorOf } from '../cursor.ts';

afterEach(closeScenes);

const AT = Date.UTC(2026, 10, 29, 20, 45);
const UP = { client: 'runner', fun: 'manage.up', arg: [1], kwarg: { a: null } };
const KEYS = { client: 'wheel', fun: 'key.list_all' };

/** A scene whose workers answer reads from a table. */
const reading = (reads: Readonly<Record<string, SaltValue>>) =>
  runnerScene({
    answer: (load) =>
      textOf(load, 'cmd') === 'brine_read'
        ? mapOf({ value: reads[textOf(load, 'read') ?? ''] ?? null })
        : undefined,
  });

const error = (name: string, message = 'why') => mapOf({ error: mapOf({ name, message }) });

describe('a new run', () => {
  test('of a runner has the token of its caller and its arguments as they were given', async () => {
    const { send, calls } = await runnerScene();
    const begun = await send('/runs', { ...UP, arg: ['1', 'a=b', { c: [true] }] });
    expect(begun).toMatchObject({ status: 202, json: { jid: JID } });
    expect(begun.headers.get('location')).toBe(`/v1/runs/${JID}`);
    const [load = mapOf({})] = calls('runner');
    expect(load.get('token')).toBe('abc123');
    expect(load.has('key')).toBe(false);
    expect(load.get('kwarg')).toEqual(
      mapOf({ arg: ['1', 'a=b', mapOf({ c: [true] })], kwarg: mapOf({ a: null }) }),
    );
  });

  test('of a wheel does not wait for it', async () => {
    const { send, calls } = await runnerScene({
      answer: (load) =>
        textOf(load, 'cmd') === 'wheel' ? mapOf({ tag: 'salt/wheel/1', jid: JID }) : undefined,
    });
    expect(await send('/runs', KEYS)).toMatchObject({ status: 202, json: { jid: JID } });
    expect(calls('wheel')[0]?.get('brine_async')).toBe(true);
  });

  test.each([
    [UP, 'runner'],
    [KEYS, 'wheel'],
  ])('%j is for who may call it', async (body, client) => {
    for (const [name, rights] of Object.entries(SIX)) {
      const answer = (load: SaltMap) =>
        textOf(load, 'cmd') === client ? mapOf({ tag: '', jid: JID }) : undefined;
      const { send } = await runnerScene({ rights, answer });
      const { status, json } = await send('/runs', body);
      const may = name === 'root' || name === client || (name === 'keys' && client === 'wheel');
      expect([name, status]).toEqual([name, may ? 202 : 403]);
      if (!may) expect(json['code']).toBe('forbidden');
    }
  });

  test.each([
    [['local', 'wheel'], 403],
    [['runner'], 202],
    [['runner_async'], 202],
  ])('needs a client that stands for it: %j', async (enabled, status) => {
    const { send, calls } = await runnerScene({ enabled });
    expect((await send('/runs', UP)).status).toBe(status);
    expect(calls('runner')).toHaveLength(status === 202 ? 1 : 0);
  });

  test('with a key names itself and what it asks for', async () => {
    const { send, calls } = await runnerScene();
    await send('/runs', UP, { 'Idempotency-Key': 'k1' });
    await send('/runs', { ...UP, arg: [2] }, { 'Idempotency-Key': 'k1' });
    const named = calls('runner').map((load) => mapIn(load, 'brine_repeatable') ?? mapOf({}));
    expect(named.map((one) => textOf(one, 'key'))).toEqual(['k1', 'k1']);
    expect(new Set(named.map((one) => textOf(one, 'body'))).size).toBe(2);
    expect((await send('/runs', UP, { 'Idempotency-Key': 'a b' })).status).toBe(400);
  });

  test.each([
    ['CommandKeyError', 422, 'key-in-use'],
    ['CommandExecutionError', 400, 'bad-request'],
    ['SaltInvocationError', 400, 'bad-request'],
    ['SaltRunnerError', 503, 'too-many'],
    ['SaltReqTimeoutError', 503, 'no-master'],
  ])('is refused as %s', async (name, status, code) => {
    const { send } = await runnerScene({
      answer: (load) => (textOf(load, 'cmd') === 'runner' ? error(name) : undefined),
    });
    expect(await send('/runs', UP)).toMatchObject({ status, json: { code } });
  });

  test.each([
    { client: 'local', fun: 'test.ping' },
    { client: 'runner', fun: 'up' },
    { client: 'runner' },
    { ...UP, token: 'x' },
    { ...UP, arg: 'x' },
  ])('%j is refused before the master is asked', async (body) => {
    const { send, calls } = await runnerScene();
    expect(await send('/runs', body)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
    expect(calls('runner')).toEqual([]);
  });

  test('checks the record of acts, and is found where its address leads', async () => {
    const { send, calls } = await runnerScene();
    const answer = await send('/audit/verify', {}, { 'Idempotency-Key': 'v' });
    expect(answer).toMatchObject({ status: 202, json: { jid: JID } });
    expect(answer.headers.get('location')).toBe(`/v1/runs/${JID}`);
    expect(calls('runner')[0]?.get('fun')).toBe('audit.verify');
    const narrow = await runnerScene({ rights: SIX['wheel'] });
    expect(await narrow.send('/audit/verify', {})).toMatchObject({ status: 403 });
  });
});

describe('runs', () => {
  const LINE = mapOf({ jid: JID, client: 'runner', fun: 'a.b', user: 'bob', state: 'running' });

  test('are listed by pages', async () => {
    const { send, calls } = await reading({ runs: mapOf({ runs: [LINE], next: JID }) });
    const page = runsSchema.parse((await send('/runs?client=runner&fun=a.*&limit=1')).json);
    expect(page).toEqual({
      items: [{ jid: JID, client: 'runner', fun: 'a.b', user: 'bob', state: 'running' }],
      next: cursorOf([JID]),
    });
    await send(`/runs?from=2026-11-29T20:45:00Z&after=${page.next ?? ''}`);
    const args = calls('brine_read').map((load) => mapIn(load, 'args'));
    expect(args).toEqual([
      mapOf({ client: 'runner', fun: 'a.*', limit: 1 }),
      mapOf({ limit: 50, before: JID, from: AT }),
    ]);
  });

  test('show steps while they run', async () => {
    const step = mapOf({ ret: mapOf({ result: false }), start: AT, end: new SaltFloat(AT + 1.5) });
    const { send } = await reading({
      run: new Map([
        ...LINE,
        ...mapOf({
          args: ['orch.web'],
          kwargs: mapOf({ pillar: mapOf({ a: 1 }) }),
          steps: mapOf({ 'salt_|-a_|-a_|-state': step }),
          begun: mapOf({ 'salt_|-b_|-b_|-state': mapOf({}) }),
        }),
      ]),
    });
    expect(runSchema.parse((await send(`/runs/${JID}`)).json)).toMatchObject({
      arg: ['orch.web'],
      kwarg: { pillar: { a: 1 } },
      steps: [
        {
          step: 'salt_|-a_|-a_|-state',
          state: 'ended',
          result: false,
          began: '2026-11-29T20:45:00.000000Z',
          ended: '2026-11-29T20:45:00.001500Z',
        },
        { step: 'salt_|-b_|-b_|-state', state: 'running' },
      ],
    });
  });

  test('show what they returned', async () => {
    const event = mapOf({ return: [Buffer.from([255])], success: true, retcode: 3 });
    const ended = mapOf({ state: 'ended', success: false, event, ended: AT });
    const { send } = await reading({ run: new Map([...LINE, ...ended]) });
    const found = runSchema.parse((await send(`/runs/${JID}`)).json);
    expect(found).toMatchObject({ success: false, retcode: 3, state: 'ended' });
    expect(JSON.stringify(found.result)).toContain('$bytes');
  });

  test.each(['/runs?state=x', '/runs?after=x', '/runs?limit=0', `/runs/${JID}?all=1`])(
    '%s is refused before the master is asked',
    async (path) => {
      const { send, calls } = await reading({});
      expect(await send(path)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
      expect(calls('brine_read')).toEqual([]);
    },
  );
});

test.each(['/runs/', '/batches/'])(
  'what is not there, and what is not seen, is %s 404',
  async (path) => {
    const { send } = await reading({});
    expect(await send(`${path}${JID}`)).toMatchObject({ status: 404, json: { code: 'not-found' } });
  },
);

describe('batches', () => {
  const BATCH = mapOf({
    jid: JID,
    fun: 'test.ping',
    tgt: ['web1', 'web2'],
    tgt_type: 'list',
    user: 'bob',
    total: 2,
    completed: 1,
    active: 1,
    pending: 0,
    failed: 0,
    batch_size: 1,
    halted: false,
    halted_reason: null,
    created: new SaltFloat(AT / 1_000),
    paused: true,
    retcode: 0,
  });
  const SHOWN = {
    jid: JID,
    fun: ['test.ping'],
    tgt: ['web1', 'web2'],
    size: 1,
    total: 2,
    paused: true,
    halted: null,
    created: '2026-11-29T20:45:00.000000Z',
    lastProgress: null,
  };

  test('are listed, and shown with their minions and their last wave', async () => {
    const last = mapOf({ dispatched: ['web2'], finished: ['web1'], silent: [] });
    const plan = mapOf({ active: ['web2'], silent: [], last });
    const { send, calls } = await reading({
      batches: mapOf({ batches: [new Map([...BATCH, ['ended', true]])], next: JID }),
      batch: new Map([...BATCH, ...mapOf({ plan, ended: false })]),
    });
    const page = batchesSchema.parse((await send('/batches?state=ended&limit=1')).json);
    expect(page).toMatchObject({ items: [{ ...SHOWN, ended: true }], next: cursorOf([JID]) });
    await send(`/batches?after=${page.next ?? ''}`);
    expect(calls('brine_read').map((load) => mapIn(load, 'args'))).toEqual([
      mapOf({ state: 'ended', limit: 1 }),
      mapOf({ limit: 50, before: JID }),
    ]);
    for (const query of ['state=all', 'limit=501', 'after=x', 'user=x']) {
      expect(await send(`/batches?${query}`)).toMatchObject({ status: 400 });
    }
    expect(batchSchema.parse((await send(`/batches/${JID}`)).json)).toMatchObject({
      ...SHOWN,
      ended: false,
      minions: {
        active: ['web2'],
        silent: [],
        wave: { dispatched: ['web2'], finished: ['web1'], silent: [] },
      },
    });
  });

  test.each([
    ['pause', undefined, { jid: JID }],
    ['resume', undefined, { jid: JID }],
    ['stop', { kill: true }, { jid: JID, kill: true }],
  ])('%s by the runner with the rights of the caller', async (act, body, kwarg) => {
    const fun = `batch.${act}`;
    for (const [name, rights] of Object.entries(SIX)) {
      const { send, calls } = await runnerScene({ rights, returns: { [fun]: true } });
      const { status } = await send(`/batches/${JID}/${act}`, body ?? {});
      const may = name === 'root' || name === 'runner';
      expect([name, status]).toEqual([name, may ? 202 : 403]);
      const [load = mapOf({})] = calls('runner');
      expect(mapIn(mapIn(load, 'kwarg') ?? mapOf({}), 'kwarg')).toEqual(mapOf(kwarg));
    }
    const ended = await runnerScene({ returns: { [fun]: false } });
    expect(await ended.send(`/batches/${JID}/${act}`, body ?? {})).toMatchObject({
      status: 404,
      json: { detail: 'No such batch is running.' },
    });
  });
});

describe('a job on some minions at a time', () => {
  const JOB = { tgt: '*', fun: 'test.ping' };
  const batch = { size: '25%', canary: '2', halt: '10%', wait: 1.5 };
  const begun = (answer: SaltValue) =>
    runnerScene({
      answer: (load) => (textOf(load, 'cmd') === 'brine_batch' ? answer : undefined),
    });

  test('is handed over as a batch, with its key and what was counted', async () => {
    const { send, calls } = await begun(mapOf({ jid: JID }));
    const job = { ...JOB, batch, expect: { count: 2 } };
    const answer = await send('/jobs', job, { 'Idempotency-Key': 'k' });
    expect(answer).toMatchObject({ status: 202, json: { jid: JID } });
    const [load = mapOf({})] = calls('brine_batch');
    expect(load.get('batch')).toEqual(
      mapOf({
        size: '25%',
        canary: '2',
        halt: '10%',
        failhard: false,
        wait_ms: 1_500,
        timeout_ms: 5_000,
      }),
    );
    expect(load.has('key')).toBe(false);
    expect(load.get('brine_expect')).toEqual(mapOf({ count: 2 }));
    expect(textOf(mapIn(load, 'brine_repeatable') ?? mapOf({}), 'key')).toBe('k');
    expect(calls('publish')).toEqual([]);
  });

  test.each([
    [mapOf({ matched: false }), 422, 'bad-target'],
    [error('AuthorizationError'), 403, 'forbidden'],
    [error('SaltInvocationError'), 400, 'bad-request'],
    [error('CommandKeyError'), 422, 'key-in-use'],
    [mapOf({ error: 'The batch could not begin' }), 503, 'no-master'],
  ])('is refused as %j', async (answer, status, code) => {
    const { send } = await begun(answer);
    expect(await send('/jobs', { ...JOB, batch })).toMatchObject({ status, json: { code } });
  });

  test.each([
    { ...JOB, batch, durable: 60 },
    { ...JOB, batch: {} },
    { ...JOB, batch: { size: '1.5' } },
    { ...JOB, batch: { size: '1', wait: -1 } },
    { ...JOB, batch: { size: 'all' } },
  ])('%j is refused before the master is asked', async (body) => {
    const { send, calls } = await begun(mapOf({ jid: JID }));
    expect(await send('/jobs', body)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
    expect(calls('brine_batch')).toEqual([]);
  });
});
