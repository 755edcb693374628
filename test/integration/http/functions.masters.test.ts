// Functions of a real minion in `/v1/functions`: the first request has the master's own, later
// ones the documentation of the newest release.
import { functionSchema, functionsSchema } from '@brine/api/site';
import { BrineMaster, freePorts, newestOf, saltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';

const PASSWORD = 'shared';
const NEWEST = newestOf('3008');
const USERS = { all: ['.*', '@runner', '@wheel', '@jobs'], pinger: [{ 'web*': ['test.ping'] }] };

let master: BrineMaster;
let base = '';
const tokens = new Map<string, string>();

const get = async (user: string, path: string) => {
  const headers = { 'X-Auth-Token': tokens.get(user) ?? '' };
  const answer = await fetch(`${base}/v1/functions${path}`, { headers });
  return { status: answer.status, json: await answer.json() };
};
const page = async (user: string, query: string) =>
  functionsSchema.parse((await get(user, query)).json);

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  master = await BrineMaster.start({
    auto_accept: true,
    sharedsecret: PASSWORD,
    external_auth: { sharedsecret: USERS },
    rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true },
  });
  const home = await master.sandbox.minion('real', master.home.retPort);
  master.sandbox.startMinion(await saltVenv(NEWEST), home);
  await master.waitForMinions(['real']);
  for (const username of Object.keys(USERS)) {
    const body = JSON.stringify({ username, password: PASSWORD, eauth: 'sharedsecret' });
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`${base}/login`, { method: 'POST', headers, body });
    tokens.set(username, answer.headers.get('x-auth-token') ?? '');
  }
}, 300_000);
afterAll(async () => {
  await master?.close();
});

test('modules and states of a minion are known soon after they were first asked for', async () => {
  const first = await page('all', '?q=jobs.active');
  expect(first.complete).toBe(false);
  expect(first.items.map(({ kind, name, source }) => [kind, name, source])).toEqual([
    ['runner', 'jobs.active', 'brine'],
  ]);
  await until('a minion has described them', async () => (await page('all', '')).complete, {
    withinMs: 120_000,
  });
  const ping = functionSchema.parse((await get('all', '/module/test.ping')).json);
  expect(ping).toMatchObject({ parameters: [], open: null, source: `minion ${NEWEST}` });
  expect(ping.doc).toContain("salt '*' test.ping");
  const installed = functionSchema.parse((await get('all', '/state/pkg.installed')).json);
  expect(installed.doc).toContain('Ensure that the package is installed');
  expect(installed).toMatchObject({ open: 'kwargs', source: `minion ${NEWEST}` });
  expect(installed.parameters).toContainEqual({ name: 'name', required: true, default: null });
  expect(installed.parameters).toContainEqual({
    name: 'version',
    required: false,
    default: 'None',
  });
  const found: string[] = [];
  let after = '';
  for (let pages = 0; pages < 100; pages += 1) {
    const { items, next } = await page('all', `?limit=500${after}`);
    found.push(...items.map(({ kind, name }) => `${kind} ${name}`));
    if (next === null) break;
    after = `&after=${next}`;
  }
  expect(found).toEqual([...new Set(found)].sort());
  expect(found.filter((name) => name.startsWith('module ')).length).toBeGreaterThan(500);
  expect(found.filter((name) => name.startsWith('state ')).length).toBeGreaterThan(200);
}, 180_000);

test('a limited caller sees those that it may call', async () => {
  const { items, next } = await page('pinger', '?limit=500');
  expect(items.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['module test.ping']);
  expect(next).toBeNull();
  expect((await get('pinger', '/module/cmd.run')).status).toBe(404);
});

test('one job for each question was published, however often it was asked', async () => {
  const headers = { 'X-Auth-Token': tokens.get('all') ?? '' };
  const answer = await fetch(`${base}/v1/jobs?hidden=true&limit=500`, { headers });
  const { items } = (await answer.json()) as { items: { fun: readonly string[] | string }[] };
  const asked = items.map(({ fun }) => String(fun)).filter((fun) => fun.startsWith('sys.'));
  expect(asked.sort()).toEqual(['sys.argspec', 'sys.doc', 'sys.state_argspec', 'sys.state_doc']);
});
