// Jobs by `/v1`: what was counted is what runs, one request is one job, each user sees its part.
import { BrineMaster, freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { startReplica } from '../security/http-replica.ts';

const IDS = ['web1', 'web2', 'db1'];
const PASSWORD = 'shared';
/** Rights by user. */
const USERS = {
  all: ['.*', '@runner', '@wheel', '@jobs'],
  webs: [{ 'web*': ['test.*'] }],
  echo: [{ '*': [{ 'test.echo': { args: ['open'] } }] }],
  lister: [{ '@runner': ['jobs.list_job'] }],
  jobs: ['@jobs'],
  nothing: [],
} as const;
type User = keyof typeof USERS;
const LIMITED = ['webs', 'echo', 'nothing'] as const;

let master: BrineMaster;
let base = '';
const tokens = new Map<User, string>();

type Json = Record<string, unknown>;

interface Asked {
  readonly body?: unknown;
  readonly key?: string;
}

async function v1(user: User, path: string, { body, key }: Asked = {}, at = base) {
  const answer = await fetch(`${at}/v1${path}`, {
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

async function publish(user: User, body: object): Promise<string> {
  const { status, json } = await v1(user, '/jobs', { body });
  expect({ status, json }).toMatchObject({ status: 202 });
  return String(json['jid']);
}

/** The job once no minion is waited for. */
async function ended(jid: string): Promise<Json> {
  let job: Json = {};
  await until(`job ${jid} has ended`, async () => {
    job = (await v1('all', `/jobs/${jid}`)).json;
    return (job['counts'] as Json | undefined)?.['waiting'] === 0;
  });
  return job;
}

async function jidsOf(user: User, query = ''): Promise<string[]> {
  const { json } = await v1(user, `/jobs?limit=500${query}`);
  return (json['items'] as { jid: string }[]).map(({ jid }) => jid);
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

it('a job has its counts, minions, returns, groups and causes', async () => {
  const body = { tgt: '*', fun: 'test.echo', arg: ['open'], metadata: { ticket: 'T1' } };
  const jid = await publish('all', body);
  const counts = { targeted: 3, returned: 3, waiting: 0, failed: 0, late: 0, never: 0 };
  expect(await ended(jid)).toMatchObject({
    jid,
    fun: ['test.echo'],
    tgt: ['*'],
    principal: 'all',
    origin: 'api',
    arg: ['open'],
    metadata: { ticket: 'T1' },
    counts: { ...counts, unexpected: 0 },
  });
  const minions = (await v1('all', `/jobs/${jid}/minions?limit=2`)).json;
  expect((minions['items'] as Json[]).map(({ id, state }) => [id, state])).toEqual([
    ['db1', 'returned'],
    ['web1', 'returned'],
  ]);
  const rest = (await v1('all', `/jobs/${jid}/minions?after=${String(minions['next'])}`)).json;
  expect(rest).toMatchObject({ items: [{ id: 'web2' }], next: null });
  const given = (await v1('all', `/jobs/${jid}/returns/db1`)).json;
  expect(given).toMatchObject({ id: 'db1', load: { return: 'open', success: true } });
  const groups = (await v1('all', `/jobs/${jid}/groups`)).json;
  expect(groups).toMatchObject({ items: [{ size: 3, failed: false, sample: 'db1' }], more: 0 });
  expect((await v1('all', `/jobs/${jid}/why`)).json).toEqual({ items: [], next: null });
  const timeline = (await v1('all', `/jobs/${jid}/timeline`)).json;
  const bins = timeline['items'] as { ok: number }[];
  expect(bins.reduce((sum, { ok }) => sum + ok, 0)).toBe(3);
  expect(await jidsOf('all', '&fun=test.e*&result=ok')).toContain(jid);
  expect(await jidsOf('all', '&result=failed')).not.toContain(jid);
});

it('a job that failed is found by that, its minions in one group', async () => {
  const jid = await publish('all', { tgt: 'web*', fun: 'test.no_such' });
  expect(await ended(jid)).toMatchObject({ counts: { targeted: 2, failed: 2 } });
  expect(await jidsOf('all', '&result=failed')).toContain(jid);
  expect((await v1('all', `/jobs/${jid}/groups?like=states`)).json).toMatchObject({
    items: [{ size: 2, failed: true }],
    whole: true,
  });
  expect((await v1('all', `/jobs/${jid}/states`)).json).toEqual({
    items: [],
    more: 0,
    minions: 0,
    whole: true,
  });
});

describe('what was counted is what runs', () => {
  test('a key that is accepted in between is refused, with the count of now', async () => {
    const target = { tgt: 'web*' };
    const seen = await v1('all', '/targets/resolve', { body: target });
    const { count, digest } = seen.json as { count: number; digest: string };
    expect(count).toBe(2);
    const job = { ...target, fun: 'test.ping', expect: { count, digest } };
    await master.startMinion('web3');
    const counted = async () => (await v1('all', '/targets/resolve', { body: target })).json;
    await until('its key is accepted', async () => (await counted())['count'] === 3);
    const before = await jidsOf('all');
    const refused = await v1('all', '/jobs', { body: job });
    expect(refused).toMatchObject({ status: 409, json: { code: 'changed', count: 3 } });
    expect(await jidsOf('all')).toEqual(before);
    const again = await counted();
    expect(refused.json['digest']).toBe(again['digest']);
    const { count: now, digest: then } = again as { count: number; digest: string };
    await master.waitForMinions(['web3']);
    await ended(await publish('all', { ...job, expect: { count: now, digest: then } }));
  });
});

describe('a request that comes again', () => {
  const body = { tgt: '*', fun: 'test.echo', arg: ['once'] };

  test('is one job, also at once, and after its first http-api was killed', async () => {
    const before = await jidsOf('all');
    const many = await Promise.all(
      Array.from({ length: 8 }, () => v1('all', '/jobs', { body, key: 'k1' })),
    );
    const jids = new Set(many.map(({ json }) => json['jid']));
    expect(jids.size).toBe(1);
    const service = (await master.services()).find(({ name }) => name.startsWith('http-api'));
    process.kill(service?.pid ?? 0, 'SIGKILL');
    await until('http-api serves again', async () =>
      Boolean(await fetch(`${base}/`).catch(() => undefined)),
    );
    const again = await v1('all', '/jobs', { body, key: 'k1' });
    expect(again).toMatchObject({ status: 202, json: { jid: [...jids][0] } });
    await ended(String(again.json['jid']));
    expect((await jidsOf('all')).filter((jid) => !before.includes(jid))).toEqual([...jids]);
  });

  test('is one job over two http-api processes, one of which is killed meanwhile', async () => {
    const second = await startReplica(master);
    const ask = (at: string) => v1('all', '/jobs', { body, key: 'k3' }, at);
    const before = await jidsOf('all');
    const many = [base, second.base, base, second.base].map((at) => ask(at).catch(() => undefined));
    const service = (await master.services()).find(({ name }) => name.startsWith('http-api'));
    process.kill(service?.pid ?? 0, 'SIGKILL');
    const answers = await Promise.all(many);
    const again = await ask(second.base);
    expect(again.status).toBe(202);
    const { jid } = again.json;
    // Those of the killed process may have no answer; each other has the same.
    const answered = answers.filter((one) => one !== undefined);
    expect(answered.length).toBeGreaterThanOrEqual(2);
    for (const { status, json } of answered) expect([status, json['jid']]).toEqual([202, jid]);
    await second.close();
    await until('http-api serves again', async () =>
      Boolean(await fetch(`${base}/`).catch(() => undefined)),
    );
    expect((await ask(base)).json['jid']).toBe(jid);
    await ended(String(jid));
    expect((await jidsOf('all')).filter((one) => !before.includes(one))).toEqual([jid]);
  });

  test('with another body is refused, and of another user it is another job', async () => {
    const first = await v1('all', '/jobs', { body, key: 'k2' });
    const other = { ...body, arg: ['other'] };
    const refused = await v1('all', '/jobs', { body: other, key: 'k2' });
    expect(refused).toMatchObject({ status: 422, json: { code: 'key-in-use' } });
    const webs = await v1('webs', '/jobs', { body: { ...body, tgt: 'web1' }, key: 'k2' });
    expect(webs.json['jid']).not.toBe(first.json['jid']);
    await ended(String(webs.json['jid']));
  });

  test('runs a job once more on the minions that did not succeed', async () => {
    const jid = await publish('all', { tgt: 'web*', fun: 'test.false_' });
    const job = await ended(jid);
    const failed = job['counts'] as Json;
    const states = failed['failed'] === 0 ? ['returned'] : ['failed'];
    const rerun = { body: { states }, key: 'again' };
    const first = await v1('all', `/jobs/${jid}/rerun`, rerun);
    expect(first.status).toBe(202);
    expect((await v1('all', `/jobs/${jid}/rerun`, rerun)).json).toEqual(first.json);
    const second = await ended(String(first.json['jid']));
    expect(second).toMatchObject({ metadata: { rerun_of: jid }, tgtType: 'list' });
    const none = await v1('all', `/jobs/${jid}/rerun`, { body: { states: ['late'] } });
    expect(none).toMatchObject({ status: 422, json: { code: 'bad-target' } });
  });
});

describe('each user sees its part', () => {
  let open = '';
  let secret = '';

  beforeAll(async () => {
    open = await publish('all', {
      tgt: 'db1,web1',
      tgtType: 'list',
      fun: 'test.echo',
      arg: ['open'],
    });
    secret = await publish('all', { tgt: '*', fun: 'test.echo', arg: ['secret'] });
    await ended(open);
    await ended(secret);
  });

  const idsOf = async (user: User, jid: string): Promise<unknown> => {
    const { status, json } = await v1(user, `/jobs/${jid}/minions`);
    return status === 200 ? (json['items'] as Json[]).map(({ id }) => id) : status;
  };

  test.each<[User, unknown, unknown]>([
    ['all', ['db1', 'web1'], ['db1', 'web1', 'web2', 'web3']],
    ['lister', ['db1', 'web1'], ['db1', 'web1', 'web2', 'web3']],
    ['jobs', ['db1', 'web1'], ['db1', 'web1', 'web2', 'web3']],
    ['webs', ['web1'], ['web1', 'web2', 'web3']],
    ['echo', ['db1', 'web1'], 404],
    ['nothing', 404, 404],
  ])('%s sees these minions of two jobs', async (user, ofOpen, ofSecret) => {
    expect(await idsOf(user, open)).toEqual(ofOpen);
    expect(await idsOf(user, secret)).toEqual(ofSecret);
  });

  test('a part has counts and groups of its own, and neither target nor user', async () => {
    const { json } = await v1('webs', `/jobs/${secret}`);
    expect(json).toMatchObject({ part: true, counts: { targeted: 3, returned: 3, never: 0 } });
    expect(Object.keys(json)).not.toContain('tgt');
    expect(JSON.stringify(json)).not.toContain('db1');
    expect((await v1('webs', `/jobs/${secret}/groups`)).json).toMatchObject({
      items: [{ size: 3, sample: 'web1' }],
      more: 0,
    });
    expect((await v1('webs', `/jobs/${secret}/returns/web1`)).status).toBe(200);
    const { json: bins } = await v1('webs', `/jobs/${secret}/timeline?bins=1`);
    expect(bins['items']).toEqual([{ ok: 3, failed: 0 }]);
  });

  test('what is beyond a part looks as what is not there', async () => {
    const unknown = '20200101000000000000';
    const plain = (json: Json) => ({ ...json, instance: '' });
    for (const path of ['', '/minions', '/groups', '/states', '/timeline', '/why']) {
      const hidden = await v1('nothing', `/jobs/${secret}${path}`);
      const absent = await v1('nothing', `/jobs/${unknown}${path}`);
      expect(hidden.status).toBe(404);
      expect(plain(hidden.json)).toEqual(plain(absent.json));
    }
    const other = await v1('webs', `/jobs/${secret}/returns/db1`);
    const nobody = await v1('webs', `/jobs/${secret}/returns/nobody`);
    expect(other.status).toBe(404);
    expect(plain(other.json)).toEqual(plain(nobody.json));
  });

  test('lists show limited users their own jobs, however they ask', async () => {
    const own = await publish('webs', { tgt: 'web1', fun: 'test.ping' });
    await ended(own);
    for (const user of LIMITED) {
      const jids = await jidsOf(user);
      expect(jids).not.toContain(secret);
      expect(jids.includes(own)).toBe(user === 'webs');
      expect(await jidsOf(user, '&principal=all')).toEqual([]);
      expect(await jidsOf(user, '&minion=db1')).toEqual([]);
    }
    expect(await jidsOf('lister', '&principal=webs')).toContain(own);
  });

  test('what a user may not run it may not run by a job of another', async () => {
    const again = { body: { states: ['returned'] } };
    const refused = await v1('jobs', `/jobs/${secret}/rerun`, again);
    expect(refused).toMatchObject({ status: 403, json: { code: 'forbidden' } });
    expect((await v1('nothing', `/jobs/${secret}/rerun`, again)).status).toBe(404);
    const kill = await v1('webs', `/jobs/${secret}/signal`, { body: { act: 'kill' } });
    expect([403, 422]).toContain(kill.status);
  });
});
