import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { JID, usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';

afterEach(closeScenes);

/** A served scene whose workers answer reads from a table. */
async function served(
  reads: Readonly<Record<string, SaltValue>> = {},
  publish: (load: SaltMap) => SaltValue = usualAnswer,
  enabled: readonly string[] = ['local_async'],
  acl: SaltValue = null,
) {
  const {
    scene,
    token,
    ask: askScene,
  } = await servedScene({
    enabled,
    answer: (load) => {
      const cmd = textOf(load, 'cmd');
      if (cmd === 'publish') return publish(load);
      if (cmd === 'brine_rights') return mapOf({ acl, principal: 'alice', reach: mapOf({}) });
      if (cmd !== 'brine_read') return usualAnswer(load);
      return mapOf({ value: reads[textOf(load, 'read') ?? ''] ?? null });
    },
  });
  const known = { Authorization: `Bearer ${token}` };
  const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await askScene(`/v1/jobs${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...known, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    return { ...answer, json: JSON.parse(answer.text) as Record<string, unknown> };
  };
  const loads = (cmd: string) => scene.master.loads.filter((one) => textOf(one, 'cmd') === cmd);
  return { ask, loads, scene };
}

const LEDGER = mapOf({
  targeted: 3,
  waiting: 0,
  returned: 1,
  failed: 1,
  late: 0,
  never: 1,
  unexpected: 0,
});
const ROW = mapOf({
  jid: JID,
  fun: ['state.apply'],
  tgt: ['web*'],
  tgtType: 'glob',
  user: 'root',
  principal: 'root',
  origin: 'schedule',
  hidden: false,
  publishedAt: Date.UTC(2026, 10, 29, 20, 45),
  deadlineAt: null,
  ledger: LEDGER,
});
const COUNTS = Object.fromEntries(LEDGER);

describe('a new job', () => {
  test('is published with the token of its caller, and its address given', async () => {
    const { ask, loads } = await served();
    const body = {
      tgt: 'web*',
      fun: 'state.apply',
      arg: ['web', { a: [1, null] }],
      kwarg: { test: true },
      metadata: { ticket: 'T1' },
      deadline: 90,
      durable: 3_600,
      ret: ['pgjsonb'],
    };
    const begun = await ask('', body);
    expect(begun).toMatchObject({ status: 202, json: { jid: JID } });
    expect(begun.headers.get('location')).toBe(`/v1/jobs/${JID}`);
    const [load = mapOf({})] = loads('publish');
    expect(load.has('key')).toBe(false);
    expect(load.get('arg')).toEqual([
      'web',
      mapOf({ a: [1, null] }),
      mapOf({ __kwarg__: true, test: true }),
    ]);
    expect(load.get('ret')).toBe('pgjsonb');
    expect(mapIn(load, 'kwargs')).toEqual(
      mapOf({
        token: 'abc123',
        metadata: mapOf({ ticket: 'T1', brine_deadline: 90, brine_durable: 3_600 }),
      }),
    );
  });

  test('names what was counted, and its key with a digest of the whole request', async () => {
    const { ask, loads } = await served();
    const body = { tgt: '*', fun: 'test.ping', expect: { count: 2, digest: 'd' } };
    await ask('', body, { 'Idempotency-Key': 'k1' });
    await ask('', { ...body, fun: 'test.echo' }, { 'Idempotency-Key': 'k1' });
    const [first = mapOf({}), second = mapOf({})] = loads('publish');
    expect(first.get('brine_expect')).toEqual(mapOf({ count: 2, digest: 'd' }));
    const named = [first, second].map((load) => mapIn(load, 'brine_repeatable') ?? mapOf({}));
    expect(named.map((one) => textOf(one, 'key'))).toEqual(['k1', 'k1']);
    expect(textOf(named[0] ?? mapOf({}), 'body')).not.toBe(textOf(named[1] ?? mapOf({}), 'body'));
  });

  const error =
    (name: string, more: Record<string, SaltValue> = {}) =>
    () =>
      mapOf({ error: mapOf({ name, message: 'm', ...more }) });
  test.each([
    [
      'another target',
      error('TargetChangedError', { count: 3, digest: 'x' }),
      { status: 409, code: 'changed', count: 3, digest: 'x' },
    ],
    ['a used key', error('CommandKeyError'), { status: 422, code: 'key-in-use' }],
    ['no right', error('AuthorizationError'), { status: 403, code: 'forbidden' }],
    ['an ended log-in', error('AuthenticationError'), { status: 401, code: 'not-logged-in' }],
    [
      'no minion',
      () => mapOf({ enc: 'clear', load: mapOf({ jid: null, minions: [], error: 'none' }) }),
      { status: 422, code: 'bad-target', detail: 'none' },
    ],
    [
      'a stream that is away',
      () => mapOf({ error: 'The job could not be published' }),
      { status: 503, code: 'no-master', retryable: true },
    ],
  ])('is refused by %s', async (_, publish, problem) => {
    const { ask } = await served({}, publish);
    const refused = await ask('', { tgt: '*', fun: 'test.ping' });
    expect(refused.json).toMatchObject(problem);
    expect(refused.status).toBe(problem.status);
  });

  test.each([
    ['no function', { tgt: '*' }, {}],
    ['a target that a worker refuses', { tgt: '<\u0005', fun: 'test.ping' }, {}],
    ['a function that is no name', { tgt: '*', fun: 'test.ping\n' }, {}],
    ['an unknown field', { tgt: '*', fun: 'test.ping', key: 'k' }, {}],
    ['a credential among its keywords', { tgt: '*', fun: 'test.ping', kwargs: { token: 't' } }, {}],
    ['a negative count', { tgt: '*', fun: 'test.ping', expect: { count: -1 } }, {}],
    ['an empty key', { tgt: '*', fun: 'test.ping' }, { 'Idempotency-Key': '' }],
    ['a long key', { tgt: '*', fun: 'test.ping' }, { 'Idempotency-Key': 'k'.repeat(129) }],
    [
      'arguments that nest too deep',
      `{"tgt":"*","fun":"test.ping","arg":[${'['.repeat(60_000)}${']'.repeat(60_000)}]}`,
      {},
    ],
  ])('with %s is refused before it is sent', async (_, body, headers) => {
    const { ask, loads } = await served();
    expect((await ask('', body, headers)).json).toMatchObject({ code: 'bad-request' });
    expect(loads('publish')).toEqual([]);
  });

  test.each(['', `/${JID}/rerun`, `/${JID}/signal`])(
    'is refused where jobs are no client of this API: %s',
    async (path) => {
      const again = mapOf({ fun: 'test.ping', arg: [], minions: ['web1'] });
      const clients = ['local_batch', 'runner', 'wheel'];
      const { ask, loads } = await served({ job_again: again }, usualAnswer, clients);
      const bodies: Readonly<Record<string, object>> = {
        '': { tgt: '*', fun: 'test.ping' },
        [`/${JID}/rerun`]: { states: ['failed'] },
        [`/${JID}/signal`]: { act: 'term' },
      };
      expect((await ask(path, bodies[path])).json).toMatchObject({ code: 'forbidden' });
      expect(loads('publish')).toEqual([]);
    },
  );

  test('with too many values is refused before it is read any further', async () => {
    const { ask, loads } = await served();
    const body = { tgt: '*', fun: 'test.ping', arg: [Array.from({ length: 300_000 }, () => 1)] };
    expect((await ask('', body)).json).toMatchObject({ code: 'too-large', status: 413 });
    expect(loads('publish')).toEqual([]);
  });
});

describe('a list of jobs', () => {
  test('has lines with counts, and a cursor', async () => {
    const { ask, loads } = await served({ jobs: mapOf({ jobs: [ROW], next: JID }) });
    const from = '2026-11-29T00:00:00Z';
    const first = await ask(
      `?limit=1&result=failed&fun=state.*&from=${from}&hidden=true&origin=schedule`,
    );
    expect(first.json['items']).toEqual([
      {
        jid: JID,
        fun: ['state.apply'],
        tgt: ['web*'],
        tgtType: 'glob',
        user: 'root',
        principal: 'root',
        origin: 'schedule',
        hidden: false,
        published: '2026-11-29T20:45:00.000000Z',
        deadline: null,
        counts: COUNTS,
      },
    ]);
    await ask(`?after=${String(first.json['next'])}`);
    const args = loads('brine_read').map((load) => mapIn(load, 'args'));
    expect(args).toEqual([
      mapOf({
        limit: 1,
        result: 'failed',
        fun: 'state.*',
        origin: 'schedule',
        hidden: true,
        from: Date.parse(from),
      }),
      mapOf({ limit: 50, before: JID }),
    ]);
  });

  test.each([
    'limit=501',
    'limit=0',
    'limit=x',
    'after=%00',
    'after=bm8',
    `after=${Buffer.from('[1]').toString('base64url')}`,
    'state=half',
    'from=yesterday',
    'more=1',
    'hidden=maybe',
    'fun=%00',
    'minion=a%00b',
  ])('with %s is refused', async (query) => {
    const { ask, loads } = await served();
    expect((await ask(`?${query}`)).json).toMatchObject({ code: 'bad-request', status: 400 });
    expect(loads('brine_read')).toEqual([]);
  });
});

describe('a job', () => {
  test('has its arguments and metadata', async () => {
    const load = mapOf({
      fun: 'state.apply',
      arg: ['web', Buffer.from([0xff])],
      kwargs: mapOf({ metadata: mapOf({ ticket: 'T1' }) }),
    });
    const { ask } = await served({ job: new Map([...ROW, ['load', load]]) });
    const { json } = await ask(`/${JID}`);
    expect(json).toMatchObject({ jid: JID, metadata: { ticket: 'T1' }, counts: COUNTS });
    expect(json['arg']).toEqual(['web', { $bytes: '/w==' }]);
    expect(json).not.toHaveProperty('part');
  });

  test('of which its caller sees a part shows no target and no user', async () => {
    const row = mapOf({
      jid: JID,
      fun: ['test.ping'],
      publishedAt: 0,
      deadlineAt: null,
      load: mapOf({ fun: 'test.ping', arg: [] }),
      ledger: LEDGER,
      isPart: true,
    });
    const { ask } = await served({ job: row });
    const { json } = await ask(`/${JID}`);
    expect(json).toMatchObject({ part: true, counts: COUNTS });
    for (const name of ['tgt', 'user', 'principal']) expect(json).not.toHaveProperty(name);
  });

  test.each(['', '/minions', '/returns/web1', '/groups', '/why'])(
    'that is not there, or not to be seen, is not found: %s',
    async (path) => {
      const { ask } = await served();
      expect((await ask(`/${JID}${path}`)).json).toMatchObject({ code: 'not-found', status: 404 });
    },
  );

  test('has pages of minions', async () => {
    const minion = mapOf({
      id: 'web1',
      state: 'failed',
      retcode: 2,
      receivedAt: 1_500,
      unexpected: false,
    });
    const { ask, loads } = await served({
      job_minions: mapOf({ minions: [minion], next: 'web1' }),
    });
    const { json } = await ask(`/${JID}/minions?state=failed&q=web`);
    expect(json['items']).toEqual([
      {
        id: 'web1',
        state: 'failed',
        retcode: 2,
        returned: '1970-01-01T00:00:01.500000Z',
        unexpected: false,
      },
    ]);
    await ask(`/${JID}/minions?after=${String(json['next'])}`);
    expect(loads('brine_read').map((load) => mapIn(load, 'args'))).toEqual([
      mapOf({ jid: JID, part: 'web', limit: 50, state: 'failed' }),
      mapOf({ jid: JID, limit: 50, after: 'web1' }),
    ]);
  });

  test('has returns as minions sent them, with evidence where it is asked for', async () => {
    const given = (value: SaltValue) => mapOf({ load: mapOf({ return: value }), receivedAt: 0 });
    const { ask } = await served({
      job_return: new Map<SaltValue, SaltValue>([
        ...given(Buffer.from([0xff])),
        ['evidence', [given('other')]],
      ]),
    });
    const path = `/${JID}/returns/${encodeURIComponent('a/b "c"')}`;
    const { json, headers } = await ask(path);
    expect(headers.get('content-type')).toContain('application/json');
    expect(json).toEqual({
      id: 'a/b "c"',
      returned: '1970-01-01T00:00:00.000000Z',
      load: { return: { $bytes: '/w==' } },
    });
    const { json: all } = await ask(`${path}?evidence=true`);
    expect(all['evidence']).toEqual([
      { returned: '1970-01-01T00:00:00.000000Z', load: { return: 'other' } },
    ]);
  });

  test('has what states came to, and when its returns came', async () => {
    const state = mapOf({
      id: 'file.managed motd',
      ok: 1,
      changed: 2,
      failed: 0,
      would: 0,
      slowestMs: 900,
      slowest: 'web1',
    });
    const { ask, loads } = await served({
      job_states: mapOf({ states: [state], more: 0, minions: 3, isWhole: false }),
      job_timeline: mapOf({
        from: 0,
        to: 2_000,
        bins: [
          [1, 0],
          [0, 2],
        ],
      }),
    });
    expect((await ask(`/${JID}/states`)).json).toEqual({
      items: [Object.fromEntries(state)],
      more: 0,
      minions: 3,
      whole: false,
    });
    expect((await ask(`/${JID}/timeline?bins=2`)).json).toEqual({
      from: '1970-01-01T00:00:00.000000Z',
      to: '1970-01-01T00:00:02.000000Z',
      items: [
        { ok: 1, failed: 0 },
        { ok: 0, failed: 2 },
      ],
    });
    const at = '2026-11-29T00:00:00Z';
    await ask(`/${JID}?at=${at}`);
    expect(loads('brine_read').map((load) => mapIn(load, 'args'))).toEqual([
      mapOf({ jid: JID, limit: 50 }),
      mapOf({ jid: JID, bins: 2 }),
      mapOf({ jid: JID, at: Date.parse(at) }),
    ]);
  });

  test('has groups, and causes of silence', async () => {
    const group = mapOf({ digest: 'd', size: 2, failed: true, sample: 'web1' });
    const cause = mapOf({ cause: 'no_key', text: 'its key is not accepted' });
    const { ask, loads } = await served({
      job_groups: mapOf({ groups: [group], more: 3, isWhole: true }),
      job_why: mapOf({ minions: mapOf({ db1: cause }), next: null }),
    });
    expect((await ask(`/${JID}/groups`)).json).toEqual({
      items: [Object.fromEntries(group)],
      more: 3,
      whole: true,
    });
    expect((await ask(`/${JID}/why`)).json).toEqual({
      items: [{ id: 'db1', ...Object.fromEntries(cause) }],
      next: null,
    });
    await ask(`/${JID}/why?minion=db1`);
    const [whole, ofOne] = loads('brine_read').slice(-2);
    expect([whole, ofOne].map((load) => load && mapIn(load, 'args')?.get('ids'))).toEqual([
      undefined,
      ['db1'],
    ]);
  });
});

describe('the trace of a job', () => {
  const traceFor = async (job: SaltValue, acl: SaltValue) => {
    const { ask } = await served({ job }, undefined, undefined, acl);
    const { status, json } = await ask(`/${JID}/trace`);
    return [status, json['code'] ?? json['jid']];
  };

  test('is shown to a caller that sees the whole job', async () => {
    expect(await traceFor(ROW, [])).toEqual([200, JID]);
    expect(await traceFor(new Map([...ROW, ['isPart', true]]), [])).toEqual([403, 'forbidden']);
    expect(await traceFor(null, [])).toEqual([404, 'not-found']);
  });

  test('is shown to a caller with all rights, also of what is no job', async () => {
    expect(await traceFor(null, null)).toEqual([200, JID]);
    const { ask } = await served();
    expect((await ask('/nothing/trace')).status).toBe(400);
  });
});

describe('a job about a job', () => {
  const first = mapOf({
    fun: 'state.apply',
    arg: ['web', mapOf({ __kwarg__: true, test: true })],
    ret: 'pgjsonb',
    metadata: mapOf({ ticket: 'T1' }),
    minions: ['web1', 'web2'],
  });

  test('runs the same on those minions, and names the first', async () => {
    const { ask, loads } = await served({ job_again: first });
    const body = { states: ['failed', 'never'], expect: { count: 2 } };
    const begun = await ask(`/${JID}/rerun`, body, { 'Idempotency-Key': 'k' });
    expect(begun).toMatchObject({ status: 202, json: { jid: JID } });
    expect(begun.headers.get('location')).toBe(`/v1/jobs/${JID}`);
    const [load = mapOf({})] = loads('publish');
    expect(load.get('tgt')).toEqual(['web1', 'web2']);
    for (const name of ['fun', 'arg', 'ret']) expect(load.get(name)).toEqual(first.get(name));
    expect(load.get('brine_expect')).toEqual(mapOf({ count: 2 }));
    const metadata = mapIn(mapIn(load, 'kwargs') ?? mapOf({}), 'metadata');
    expect(metadata).toEqual(mapOf({ ticket: 'T1', rerun_of: JID }));
    expect(mapIn(loads('brine_read')[0] ?? mapOf({}), 'args')).toEqual(
      mapOf({ jid: JID, states: ['failed', 'never'] }),
    );
  });

  test('ends its work on the minions that have not returned', async () => {
    const { ask, loads } = await served({ job_again: first });
    await ask(`/${JID}/signal`, { act: 'kill' });
    const [load = mapOf({})] = loads('publish');
    expect(load.get('fun')).toBe('saltutil.kill_job');
    expect(load.get('arg')).toEqual([JID]);
    expect(load.get('tgt')).toEqual(['web1', 'web2']);
    const [read = mapOf({})] = loads('brine_read');
    expect(mapIn(read, 'args')?.get('states')).toEqual(['waiting', 'never']);
  });

  test('is another request than the same about another job', async () => {
    const { ask, loads } = await served({ job_again: first });
    const key = { 'Idempotency-Key': 'k' };
    await ask(`/${JID}/rerun`, { states: ['failed'] }, key);
    await ask('/20261129204500123457/rerun', { states: ['failed'] }, key);
    const bodies = loads('publish').map((load) => mapIn(load, 'brine_repeatable')?.get('body'));
    expect(new Set(bodies).size).toBe(2);
  });

  test.each([
    ['rerun', {}],
    ['rerun', { states: [] }],
    ['rerun', { states: ['gone'] }],
    ['signal', { act: 'pause' }],
  ])('with an unfit body is refused: %s %o', async (path, body) => {
    const { ask, loads } = await served({ job_again: first });
    expect((await ask(`/${JID}/${path}`, body)).json).toMatchObject({ code: 'bad-request' });
    expect(loads('publish')).toEqual([]);
  });

  test.each(['rerun', 'signal'])('that is not to be seen is not found: %s', async (path) => {
    const { ask, loads } = await served();
    const body = path === 'rerun' ? { states: ['failed'] } : { act: 'term' };
    expect((await ask(`/${JID}/${path}`, body)).json).toMatchObject({ code: 'not-found' });
    expect(loads('publish')).toEqual([]);
  });
});
