// Followers of events by HTTP: each user sees what its rights cover, and no more.
import { BrineMaster, freePorts } from '@brine/testing';
import { growsOld, until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';

const IDS = ['web1', 'db1'];
const PASSWORD = 'shared';
/** Rights by user. */
const USERS = {
  all: ['.*', '@runner', '@wheel', '@jobs'],
  webs: [{ 'web*': ['test.*'] }],
  debian: [{ 'G@kernel:Linux and db*': ['test.*'] }],
  jobs: ['@jobs'],
  site: ['@events'],
  nothing: [],
} as const;
type User = keyof typeof USERS;

let master: BrineMaster;
let base = '';
const followers = new Map<User, { text: string; stop: () => void }>();
const tokens = new Map<User, string>();

async function post(path: string, body: unknown, token = ''): Promise<Response> {
  return fetch(base + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Auth-Token': token },
    body: JSON.stringify(body),
  });
}

async function logIn(username: User): Promise<string> {
  const answer = await post('/login', { username, password: PASSWORD, eauth: 'sharedsecret' });
  return answer.headers.get('x-auth-token') ?? '';
}

async function follow(user: User): Promise<void> {
  const gone = new AbortController();
  const headers = { 'X-Auth-Token': tokens.get(user) ?? '' };
  const answer = await fetch(`${base}/events`, { headers, signal: gone.signal });
  expect(answer.status).toBe(200);
  const follower = { text: '', stop: () => gone.abort() };
  followers.set(user, follower);
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      follower.text += decoder.decode(chunk as Uint8Array, { stream: true });
    }
  };
  read().catch(() => undefined);
  await until(`${user} follows`, () => follower.text.startsWith('retry: 400\n'));
}

function tagsOf(user: User): string[] {
  const lines = followers.get(user)?.text.split('\n') ?? [];
  return lines.filter((line) => line.startsWith('tag: ')).map((line) => line.slice(5));
}

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  master = await BrineMaster.start({
    auto_accept: true,
    sharedsecret: PASSWORD,
    external_auth: { sharedsecret: USERS },
    netapi_enable_clients: ['local', 'local_async', 'runner', 'wheel'],
    rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true },
  });
  for (const id of IDS) await master.startMinion(id);
  await master.waitForMinions(IDS);
  for (const user of Object.keys(USERS) as User[]) {
    tokens.set(user, await logIn(user));
    await follow(user);
  }
});
afterAll(async () => {
  for (const { stop } of followers.values()) stop();
  await master?.close();
});

it('each follower gets the events that its rights cover', async () => {
  const all = tokens.get('all') ?? '';
  const ask = (low: object, token = all) => post('/', [low], token);
  expect(
    await (await ask({ client: 'local', tgt: '*', fun: 'test.echo', arg: ['secret'] })).json(),
  ).toEqual({
    return: [{ web1: 'secret', db1: 'secret' }],
  });
  await ask({ client: 'runner', fun: 'test.arg', arg: ['hidden'] });
  await ask({ client: 'wheel', fun: 'key.list_all' });
  // Its own job: the minions of others are in its returns too.
  await ask({ client: 'local', tgt: 'web1', fun: 'test.ping' }, tokens.get('webs'));
  expect(
    (await ask({ client: 'local', tgt: 'db1', fun: 'test.ping' }, tokens.get('webs'))).status,
  ).toBe(401);
  await post('/hook/last', {}, all);
  await until('the last event came', () => tagsOf('all').includes('salt/netapi/hook/last'));
  await until('the last event came', () => tagsOf('site').includes('salt/netapi/hook/last'));

  const kinds = (user: User): string[] =>
    [...new Set(tagsOf(user).map((tag) => tag.replace(/\d{20}/, 'JID')))].sort();
  const job = ['salt/job/JID/new', 'salt/job/JID/publish'];
  const rets = ['salt/job/JID/ret/db1', 'salt/job/JID/ret/web1'];
  expect(kinds('all')).toEqual(expect.arrayContaining([...job, ...rets, 'salt/netapi/hook/last']));
  expect(kinds('all')).toEqual(
    expect.arrayContaining(['salt/run/JID/new', 'salt/run/JID/ret', 'salt/wheel/JID/ret']),
  );
  expect(kinds('webs')).toEqual([...job, 'salt/job/JID/ret/web1']);
  expect(kinds('debian')).toEqual(['salt/job/JID/ret/db1']);
  // The refused job of the other user had no id.
  expect(kinds('jobs')).toEqual([...job, ...rets, 'salt/job/error']);
  expect(kinds('site')).toEqual(['salt/netapi/hook/last']);
  expect(kinds('nothing')).toEqual([]);
  // Of the job of another only the return itself: no target, no list of minions.
  expect(tagsOf('webs').filter((tag) => tag.endsWith('/new'))).toHaveLength(1);
});

it('/v1 counts the minions that a user may run a function on, and no others', async () => {
  const v1 = async (path: string, user: User, body?: object) => {
    const answer = await fetch(`${base}/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        Authorization: `Bearer ${tokens.get(user) ?? ''}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  const count = (user: User, tgt: string, fun = 'test.ping') =>
    v1('/targets/resolve', user, { tgt, fun });
  const whole = await count('all', '*', 'cmd.run');
  expect(whole).toMatchObject({ count: 2, sample: ['db1', 'web1'] });
  expect(await count('webs', 'web*')).toMatchObject({ count: 1, sample: ['web1'] });
  expect((await count('webs', 'web*'))['digest']).not.toBe(whole['digest']);
  const refused = { status: 403, code: 'forbidden' };
  expect(await count('webs', 'db1')).toMatchObject(refused);
  expect(await count('webs', 'web1', 'cmd.run')).toMatchObject(refused);
  for (const user of ['jobs', 'site', 'nothing'] as const) {
    expect(await count(user, '*')).toMatchObject(refused);
  }
  expect(await v1('/me', 'webs')).toMatchObject({
    principal: 'webs',
    eauth: 'sharedsecret',
    readsAll: false,
    rights: [{ on: 'web*', functions: [{ fun: 'test.*' }] }],
  });
  expect(await v1('/me', 'all')).toMatchObject({ readsAll: true });
});

it('a stream ends within 30 s after its token was revoked, and others continue', async () => {
  const token = tokens.get('webs') ?? '';
  expect((await post('/logout', {}, token)).status).toBe(200);
  const before = tagsOf('webs').length;
  const answer = await fetch(`${base}/events`, { headers: { 'X-Auth-Token': token } });
  expect(answer.status).toBe(401);
  await until(
    'it sees nothing more',
    async () => {
      await post(
        '/',
        [{ client: 'local_async', tgt: 'web1', fun: 'test.ping' }],
        tokens.get('all'),
      );
      const seen = tagsOf('webs').length;
      await growsOld('the last job', 1_000);
      return tagsOf('webs').length === seen;
    },
    { withinMs: 45_000 },
  );
  expect(before).toBeGreaterThan(0);
  expect(tagsOf('jobs').length).toBeGreaterThan(0);
});
