// Runs and batches by `/v1` with a whole master: who begins and sees them, once for one key.
import { BrineMaster, freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';

const IDS = ['web1', 'web2', 'db1'];
const PASSWORD = 'shared';
/** Rights by user. */
const USERS = {
  all: ['.*', '@runner', '@wheel', '@jobs'],
  tests: ['test.*'],
  lister: [{ '@runner': ['jobs.list_job'] }],
  arg: [{ '@runner': ['test.arg'] }],
  keys: [{ '@wheel': ['key.list_all'] }],
  nothing: [],
} as const;
type User = keyof typeof USERS;

let master: BrineMaster;
let base = '';
const tokens = new Map<User, string>();

type Json = Record<string, unknown>;

interface Asked {
  readonly body?: unknown;
  readonly key?: string;
}

async function v1(user: User, path: string, { body, key }: Asked = {}) {
  const answer = await fetch(`${base}/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      Authorization: `Bearer ${tokens.get(user) ?? ''}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, json: (await answer.json()) as Json };
}

/** A run once it has ended. */
async function ended(user: User, jid: unknown): Promise<Json> {
  let run: Json = {};
  await until(`run ${String(jid)} has ended`, async () => {
    run = (await v1(user, `/runs/${String(jid)}`)).json;
    return run['state'] === 'ended';
  });
  return run;
}

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  master = await BrineMaster.start({
    auto_accept: true,
    sharedsecret: PASSWORD,
    external_auth: { sharedsecret: USERS },
    netapi_enable_clients: ['local', 'runner', 'wheel'],
    rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true },
    schedule: { poll: { function: 'test.stdout_print', hours: 12, run_on_start: false } },
    reactor: [{ 'site/*': ['/srv/none.sls'] }],
  });
  for (const id of IDS) await master.startMinion(id);
  await master.waitForMinions(IDS);
  for (const username of Object.keys(USERS) as User[]) {
    const answer = await fetch(`${base}/login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username, password: PASSWORD, eauth: 'sharedsecret' }),
    });
    tokens.set(username, answer.headers.get('x-auth-token') ?? '');
  }
});
afterAll(() => master?.close());

it('a run is seen by its user, and by who may call its function', async () => {
  const body = { client: 'runner', fun: 'test.arg', arg: ['1', 'a=b'], kwarg: { c: [true] } };
  const { status, json } = await v1('arg', '/runs', { body, key: 'once' });
  expect({ status, json }).toMatchObject({ status: 202 });
  expect((await v1('arg', '/runs', { body, key: 'once' })).json).toEqual(json);
  const run = await ended('arg', json['jid']);
  expect(run).toMatchObject({
    client: 'runner',
    fun: 'test.arg',
    user: 'arg',
    success: true,
    arg: ['1', 'a=b'],
    kwarg: { c: [true] },
  });
  expect(JSON.stringify(run['result'])).toContain('a=b');
  const seen: Json = {};
  for (const user of Object.keys(USERS) as User[]) {
    const list = (await v1(user, '/runs?fun=test.*')).json['items'] as { jid: string }[];
    const one = (await v1(user, `/runs/${String(json['jid'])}`)).status;
    seen[user] = [list.filter(({ jid }) => jid === json['jid']).length, one];
  }
  const [yes, no] = [
    [1, 200],
    [0, 404],
  ];
  expect(seen).toEqual({ all: yes, arg: yes, tests: no, lister: no, keys: no, nothing: no });
  expect(await v1('arg', '/runs', { body: { ...body, arg: [] }, key: 'once' })).toMatchObject({
    status: 422,
    json: { code: 'key-in-use' },
  });
});

it('a wheel and a runner are for who may call them', async () => {
  const wheel = { client: 'wheel', fun: 'key.list_all' };
  for (const user of Object.keys(USERS) as User[]) {
    const may = user === 'all' || user === 'keys';
    expect([user, (await v1(user, '/runs', { body: wheel })).status]).toEqual([
      user,
      may ? 202 : 403,
    ]);
    const acts = (await v1(user, '/audit/verify', { body: {} })).status;
    expect([user, acts]).toEqual([user, user === 'all' ? 202 : 403]);
  }
  const { json } = await v1('all', '/runs?client=wheel');
  expect((json['items'] as Json[]).length).toBeGreaterThan(0);
});

it('a run that takes long is listed while it runs', async () => {
  const body = { client: 'runner', fun: 'test.sleep', arg: [3] };
  const { json } = await v1('all', '/runs', { body });
  const { json: now } = await v1('all', `/runs/${String(json['jid'])}`);
  expect(['waiting', 'running']).toContain(now['state']);
  const { json: list } = await v1('all', '/runs');
  const open = (list['items'] as Json[]).find(({ jid }) => jid === json['jid']);
  expect(['waiting', 'running']).toContain(open?.['state']);
  expect((await v1('tests', `/runs/${String(json['jid'])}`)).status).toBe(404);
  expect(await ended('all', json['jid'])).toMatchObject({ success: true });
});

it('a batch begins once, is paused, resumed and stopped, and seen by its user', async () => {
  const body = { tgt: '*', fun: 'test.sleep', arg: [2], batch: { size: '1' } };
  const { status, json } = await v1('tests', '/jobs', { body, key: 'b' });
  expect({ status, json }).toMatchObject({ status: 202 });
  expect((await v1('tests', '/jobs', { body, key: 'b' })).json).toEqual(json);
  const path = `/batches/${String(json['jid'])}`;
  await until('the batch runs', async () => {
    const { json: batch } = await v1('tests', path);
    return Number(batch['active'] ?? 0) > 0;
  });
  const { json: batch } = await v1('tests', path);
  expect(batch).toMatchObject({ total: 3, size: 1, paused: false, ended: false, halted: null });
  const { json: list } = await v1('tests', '/batches');
  expect((list['items'] as Json[]).map(({ jid }) => jid)).toEqual([json['jid']]);
  expect((await v1('nothing', '/batches')).json['items']).toEqual([]);
  expect((await v1('nothing', path)).status).toBe(404);
  expect((await v1('tests', `${path}/pause`, { body: {} })).status).toBe(403);
  expect((await v1('all', `${path}/pause`, { body: {} })).status).toBe(202);
  await until('it is paused', async () => (await v1('all', path)).json['paused'] === true);
  expect((await v1('all', `${path}/resume`, { body: {} })).status).toBe(202);
  await until('it is resumed', async () => (await v1('all', path)).json['paused'] === false);
  expect((await v1('all', `${path}/stop`, { body: { kill: true } })).status).toBe(202);
  await until('it has ended', async () => (await v1('tests', path)).json['ended'] === true);
  expect((await v1('all', `${path}/pause`, { body: {} })).status).toBe(404);
});

it('the reactor, the schedule and the record show and do what their runners do', async () => {
  const { json: reactor } = await v1('all', '/reactor');
  expect(reactor).toMatchObject({ items: [{ event: 'site/*', reactors: ['/srv/none.sls'] }] });
  const add = { act: 'add', event: 'more/*', reactors: ['/srv/more.sls'] };
  expect((await v1('all', '/reactor/act', { body: add })).status).toBe(200);
  expect((await v1('all', '/reactor')).json['items']).toHaveLength(2);
  expect((await v1('all', '/reactor/failures')).status).toBe(200);
  const schedule = async () =>
    ((await v1('all', '/schedule')).json['items'] as Json[]).find(({ name }) => name === 'poll');
  await until('the next run is known', async () => (await schedule())?.['next'] !== null);
  const body = { act: 'disable', name: 'poll' };
  expect((await v1('all', '/schedule/act', { body })).status).toBe(200);
  expect(await schedule()).toMatchObject({ fun: 'test.stdout_print', enabled: false, next: null });
  expect((await v1('all', '/schedule/act', { body: { act: 'run', name: 'x' } })).status).toBe(404);
  expect((await v1('lister', '/schedule/act', { body })).status).toBe(403);
  let after = '';
  const rows: string[] = [];
  for (let page = 0; page < 3; page += 1) {
    const { json } = await v1('all', `/audit?limit=3&act=runner${after}`);
    rows.push(...(json['items'] as { row: string }[]).map(({ row }) => row));
    after = `&after=${String(json['next'])}`;
  }
  expect(new Set(rows).size).toBe(rows.length);
  expect(rows).toHaveLength(9);
  expect((await v1('keys', '/audit')).status).toBe(403);
});
