// The reactor, the schedule and the record of acts: each by the runner that has it.
import { auditSchema, failuresSchema, reactorSchema, scheduleSchema } from '@brine/api/runs';
import { mapIn, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { runnerScene, SIX } from '../../../test/runner-scene.ts';
import { closeScenes } from '../../../test/served-scene.ts';
import { cursorOf } from '../cursor.ts';

afterEach(closeScenes);

const DONE = mapOf({ status: true, comment: 'Reactor added.' });
const OUTCOME = mapOf({ result: true, comment: 'Scheduling Job poll on the master.' });
const AT = '2026-11-29T20:45:00Z';
const WALL = '2026-11-29T20:45:00';

/** Each address: what it runs with which keywords, and what a master returns for it. */
const TABLE: readonly (readonly [
  path: string,
  body: unknown,
  fun: string,
  kwarg: Record<string, SaltValue>,
  value: SaltValue,
])[] = [
  ['/reactor', undefined, 'reactor.list', {}, []],
  ['/reactor/failures?limit=2', undefined, 'reactor.failed', { limit: 2 }, mapOf({ failed: [] })],
  [
    '/reactor/act',
    { act: 'add', event: 'x/*', reactors: ['salt://x.sls'] },
    'reactor.add',
    { event: 'x/*', reactors: ['salt://x.sls'] },
    DONE,
  ],
  ['/reactor/act', { act: 'delete', event: 'x/*' }, 'reactor.delete', { event: 'x/*' }, DONE],
  ['/schedule', undefined, 'schedule.status', { utc: true }, mapOf({})],
  [
    '/schedule/act',
    { act: 'run', name: 'poll' },
    'schedule.run_job',
    { name: 'poll', force: false },
    OUTCOME,
  ],
  [
    '/schedule/act',
    { act: 'skip', name: 'poll', at: '2026-11-29T21:45:00+01:00' },
    'schedule.skip_job',
    { name: 'poll', current_time: WALL, utc: true },
    OUTCOME,
  ],
  [
    '/schedule/act',
    { act: 'postpone', name: 'poll', at: AT, to: '2026-11-30T00:00:00Z' },
    'schedule.postpone_job',
    { name: 'poll', current_time: WALL, new_time: '2026-11-30T00:00:00', utc: true },
    OUTCOME,
  ],
  ['/schedule/act', { act: 'enable' }, 'schedule.enable', {}, OUTCOME],
  [
    '/schedule/act',
    { act: 'disable', name: 'a/b' },
    'schedule.disable_job',
    { name: 'a/b' },
    OUTCOME,
  ],
  [
    `/audit?who=anne&act=key&from=${AT}&to=2026-11-30T00:00:00Z&limit=2&after=${cursorOf([AT, 'w 1 7'])}`,
    undefined,
    'audit.list',
    {
      limit: 2,
      kind: 'key',
      principal: 'anne',
      since: '2026-11-29T20:45:00.000Z',
      until: '2026-11-30T00:00:00.000Z',
      before: `${AT} w 1 7`,
    },
    [],
  ],
];

const keywordsOf = (load: SaltMap | undefined) => {
  const given = load && mapIn(load, 'kwarg');
  return given && mapIn(given, 'kwarg');
};

describe.each(TABLE)('%s %j', (path, body, fun, kwarg, value) => {
  test(`runs ${fun} with the token of its caller`, async () => {
    const { send, calls, scene } = await runnerScene({ returns: { [fun]: value } });
    expect((await send(path, body)).status).toBe(200);
    const [load, ...more] = calls('runner');
    expect(more).toEqual([]);
    expect(load?.get('fun')).toBe(fun);
    expect(load?.get('token')).toBe('abc123');
    expect(keywordsOf(load)).toEqual(mapOf(kwarg));
    expect(scene.faults).toEqual([]);
  });

  test.each(Object.entries(SIX))('is for who may run it: %s', async (name, rights) => {
    const { send } = await runnerScene({ rights, returns: { [fun]: value } });
    const { status, json } = await send(path, body);
    if (name === 'root' || name === 'runner') expect(status).toBe(200);
    else expect({ status, code: json['code'] }).toEqual({ status: 403, code: 'forbidden' });
  });

  test('needs the client runner', async () => {
    const { send, calls } = await runnerScene({ enabled: ['local', 'wheel'] });
    expect(await send(path, body)).toMatchObject({ status: 403, json: { code: 'forbidden' } });
    expect(calls('runner')).toEqual([]);
  });

  test('shows why the function failed', async () => {
    const failed = { [fun]: 'Something went wrong.' };
    const { send } = await runnerScene({ returns: failed, success: false });
    const { json } = await send(path, body);
    expect(json).toMatchObject({ code: 'refused', detail: 'Something went wrong.' });
  });
});

test('entries and failures of the reactor have forms', async () => {
  const failure = { id: 'e-1', tag: 'x', kind: 'render', what: '/srv/x.sls', why: 'bad' };
  const { send } = await runnerScene({
    returns: {
      'reactor.list': [mapOf({ 'a/*': ['/srv/a.sls'] }), mapOf({ b: 'salt://b.sls' })],
      'reactor.failed': mapOf({
        waiting: 1,
        counted: 3,
        failed: [mapOf({ ...failure, time: '2026-11-29T20:45:00.123Z' })],
      }),
    },
  });
  const entries = reactorSchema.parse((await send('/reactor')).json);
  expect(entries.items).toEqual([
    { event: 'a/*', reactors: ['/srv/a.sls'] },
    { event: 'b', reactors: ['salt://b.sls'] },
  ]);
  const { json } = await send('/reactor/failures');
  expect(failuresSchema.parse(json)).toEqual({
    items: [{ ...failure, at: '2026-11-29T20:45:00.123000Z' }],
    counted: 3,
    waiting: 1,
  });
});

test('an act that the reactor does not do is refused in its words', async () => {
  const no = mapOf({ status: false, comment: 'Reactor already exists.' });
  const { send } = await runnerScene({ returns: { 'reactor.add': no } });
  const answer = await send('/reactor/act', { act: 'add', event: 'x', reactors: ['/x.sls'] });
  expect(answer).toMatchObject({ status: 422, json: { detail: 'Reactor already exists.' } });
});

test('a schedule has times in UTC, whatever the names of its jobs', async () => {
  const { send } = await runnerScene({
    returns: {
      'schedule.status': mapOf({
        __proto: mapOf({
          function: 'test.true',
          enabled: true,
          next_fire_time: WALL,
          runs: [
            mapOf({ due: WALL, jid: '1', running: true }),
            mapOf({ due: WALL, ended: WALL, success: false }),
            mapOf({ due: WALL, skipped: 'maxrunning' }),
          ],
          skipped: mapOf({ time: WALL, reason: 'skip_explicit' }),
        }),
        off: mapOf({ function: 'test.true', enabled: false, next_fire_time: null, runs: [] }),
        not_in_force: mapOf({ bad: 'it has no time' }),
      }),
    },
  });
  const at = '2026-11-29T20:45:00.000000Z';
  expect(scheduleSchema.parse((await send('/schedule')).json)).toEqual({
    items: [
      {
        name: '__proto',
        fun: 'test.true',
        enabled: true,
        next: at,
        runs: [
          { due: at, jid: '1', running: true },
          { due: at, ended: at, running: false, success: false },
          { due: at, running: false, skipped: 'maxrunning' },
        ],
        skipped: { at, reason: 'skip_explicit' },
      },
      { name: 'off', fun: 'test.true', enabled: false, next: null, runs: [], skipped: null },
    ],
    notInForce: [{ where: 'bad', why: 'it has no time' }],
  });
});

test('a job that the schedule does not have is not found', async () => {
  const none = mapOf({ result: false, comment: 'Job none does not exist.' });
  const { send } = await runnerScene({ returns: { 'schedule.run_job': none } });
  const answer = await send('/schedule/act', { act: 'run', name: 'none' });
  expect(answer).toMatchObject({ status: 404, json: { detail: 'Job none does not exist.' } });
});

test('a page of acts leads to the next one', async () => {
  const row = (n: number): SaltMap =>
    mapOf({ at: `2026-11-29T20:45:0${n}.000Z`, row: `h 1 ${n}`, kind: 'key', outcome: 'done' });
  const more = mapOf({ principal: 'anne', fun: 'key.accept', argsHash: 'secret', minions: 3 });
  const rows = [new Map([...row(9), ...more]), row(8)];
  const { send, calls } = await runnerScene({ returns: { 'audit.list': rows } });
  const page = auditSchema.parse((await send('/audit?limit=2')).json);
  expect(page.items[0]).toEqual({
    row: 'h 1 9',
    at: '2026-11-29T20:45:09.000000Z',
    kind: 'key',
    outcome: 'done',
    principal: 'anne',
    fun: 'key.accept',
  });
  await send(`/audit?limit=3&after=${page.next ?? ''}`);
  expect(keywordsOf(calls('runner')[1])?.get('before')).toBe('2026-11-29T20:45:08.000Z h 1 8');
  expect((await send('/audit?limit=3')).json['next']).toBeNull();
});

test.each([
  ['/audit?after=x', undefined],
  [`/audit?after=${cursorOf(['never', 'h 1'])}`, undefined],
  [`/audit?after=${cursorOf([AT, 'h'])}`, undefined],
  ['/audit?act=all', undefined],
  ['/audit?from=1w', undefined],
  ['/audit?to=soon', undefined],
  ['/audit?limit=501', undefined],
  ['/reactor?all=1', undefined],
  ['/reactor/failures?limit=1001', undefined],
  ['/reactor/act', { act: 'add', event: 'x', reactors: [] }],
  ['/reactor/act', { act: 'delete', event: 'x', reactors: ['/x'] }],
  ['/schedule?name=x', undefined],
  ['/schedule/act', { act: 'skip', name: 'x' }],
  ['/schedule/act', { act: 'run' }],
  ['/schedule/act', { act: 'enable', name: 'x'.repeat(256) }],
  ['/schedule/act', { act: 'postpone', name: 'x', at: 'now', to: AT }],
])('%s %j is refused before the master is asked', async (path, body) => {
  const { send, calls } = await runnerScene();
  expect(await send(path, body)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
  expect(calls('runner')).toEqual([]);
});

test('without a reactor its lists are empty, and its acts are refused', async () => {
  const text = 'Exception: Reactor system is not running.';
  const returns = { 'reactor.list': text, 'reactor.failed': text, 'reactor.delete': text };
  const { send } = await runnerScene({ success: false, returns });
  expect((await send('/reactor')).json).toEqual({
    items: [],
    reason: expect.stringContaining('No reactor is configured'),
  });
  expect((await send('/reactor/failures')).json).toEqual({ items: [], counted: 0, waiting: 0 });
  const act = await send('/reactor/act', { act: 'delete', event: 'x' });
  expect(act).toMatchObject({ status: 422, json: { code: 'refused' } });
  const other = await runnerScene({ success: false, returns: { 'reactor.list': 'away' } });
  expect((await other.send('/reactor')).json).toMatchObject({ code: 'refused' });
});
