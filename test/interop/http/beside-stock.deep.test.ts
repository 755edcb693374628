// Brine's own HTTP API beside a stock salt-api on the same master: both must answer alike.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '@brine/testing';
import { drawn } from '@brine/testing/circle';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SaltApi } from '../stock-tools/salt-api.ts';
import { python } from '../stock-tools/stock-tools.ts';
import { Lab } from '../transcripts/lab.ts';
import { takeTurn } from '../transcripts/one-lab.ts';
import { FIXTURES } from '../transcripts/recorded-cases.ts';
import { BESIDE_CASES } from './beside-cases.ts';
import { BESIDE_DIFFERENCES } from './differences.ts';
import { type ApiRequest, HttpClient } from './http-client.ts';
import { PEPPER_CASES, type PepperRun, runPepper } from './pepper.ts';
import { type Answered, HttpCases } from './recorded-http.ts';

const COMPARE = fileURLToPath(new URL('../transcripts/compare.py', import.meta.url));
/** For all requests, on a machine three times slower than the one that they were written on. */
const LIMIT_MS = 1_800_000;
const TURN_MS = 5_400_000;
/** How often is asked what was not answered alike. */
const TIMES = 3;
/** Cases of a sample; all take 16 minutes. */
const REQUESTS = drawn('requests beside salt-api', BESIDE_CASES, 60, ({ name }) => name);
const COMMANDS = drawn('commands of pepper', PEPPER_CASES, 10, ({ name }) => name);

const FORM = 'application/x-www-form-urlencoded';
const CLIENTS = ['local', 'local_async', 'local_batch', 'local_subset'];
const OTHER_CLIENTS = ['runner', 'runner_async', 'wheel', 'wheel_async'];

let endTurn: (() => void) | undefined;
let lab: Lab;
let stock: SaltApi;
let brine: HttpClient;

beforeAll(async () => {
  endTurn = await takeTurn();
}, TURN_MS);
beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  lab = await Lab.start('3008.2', '3006.26', {
    rest_cherrypy: { host: '127.0.0.1', port, disable_ssl: true },
    netapi_enable_clients: [...CLIENTS, ...OTHER_CLIENTS],
  });
  brine = new HttpClient(port);
  stock = await SaltApi.start(lab);
}, LIMIT_MS);
afterAll(async () => {
  try {
    await stock?.stop();
    await lab?.close();
  } finally {
    endTurn?.();
  }
});

it(
  'each further request is answered alike, but for the listed ones',
  async () => {
    const [wanted, own] = [new HttpCases(lab, stock.http), new HttpCases(lab, brine)];
    let left = REQUESTS;
    let wrong: readonly { readonly name: string; readonly diff: string }[] = [];
    for (let time = 1; time <= TIMES && left.length > 0; time += 1) {
      const answered: Answered[] = [];
      for (const asked of left) {
        const recorded = { ...asked, ...(await wanted.answer(asked)) };
        answered.push({ recorded, seen: await own.answer(asked) });
      }
      wrong = (await own.compare(answered)).filter((one) => !one.equal);
      const names = new Set(wrong.map(({ name }) => name));
      left = left.filter(({ name }) => names.has(name));
    }
    process.stdout.write(`http-api: ${wrong.length} of ${REQUESTS.length} differ\n`);
    const listed = new Set<string>(BESIDE_DIFFERENCES.flatMap(({ names }) => names));
    const unlisted = wrong.filter(({ name }) => !listed.has(name));
    expect(unlisted.map(({ name, diff }) => `${name}\n${diff}`).join('\n\n')).toBe('');
    const names = wrong.map(({ name }) => name);
    const asked = REQUESTS.filter(({ name }) => listed.has(name));
    expect(asked.filter(({ name }) => !names.includes(name))).toEqual([]);
  },
  LIMIT_MS,
);

const HOOKS: readonly Omit<ApiRequest, 'method'>[] = [
  { path: '/hook', body: '{"a": [1, {"b": null}]}' },
  { path: '/hook/a/b/', body: '{"arg": "x"}' },
  { path: '/hook/a//b?x=1', body: '[1]' },
  { path: '/hook/a%20b', body: '[]' },
  { path: '/hook/text', body: 'hello', headers: { 'Content-Type': 'text/plain' } },
  { path: '/hook/form', body: 'a=1&a=2&arg=1', headers: { 'Content-Type': FORM } },
  { path: '/hook/yaml', body: 'a: é', headers: { 'Content-Type': 'application/x-yaml' } },
  { path: '/hook/nothing', body: null, headers: { 'x-my-key': 'k', 'User-Agent': 'me/1' } },
];

it('web hooks become the same events', async () => {
  const events = async (http: HttpClient): Promise<readonly unknown[]> => {
    const token = await http.logIn('api');
    const follower = await brine.follow({
      path: '/events',
      headers: { 'X-Auth-Token': await brine.logIn('api') },
    });
    await until('the stream has begun', () => follower.lines.includes('retry: 400'));
    for (const hook of HOOKS) {
      const headers = { 'Content-Type': 'application/json', ...hook.headers };
      const sent = { ...headers, 'X-Auth-Token': token };
      const { status } = await http.ask({ ...hook, method: 'POST', headers: sent });
      expect(status, hook.path).toBe(200);
    }
    const seen = (): readonly string[] =>
      follower.lines.filter((line) => line.startsWith('data: ') && line.includes('/netapi/hook'));
    await until('all came', () => seen().length >= HOOKS.length);
    follower.stop();
    return seen().map((line) => shownHook(JSON.parse(line.slice(6)) as HookEvent, http.port));
  };
  expect(await events(brine)).toEqual(await events(stock.http));
});

interface HookEvent {
  readonly tag: string;
  readonly data: { readonly headers: Readonly<Record<string, string>> };
}

/** An event without what differs from one request or server to the next. */
function shownHook({ tag, data }: HookEvent, port: number): unknown {
  const { 'X-Auth-Token': _token, Host: host, ...headers } = data.headers;
  expect(host).toBe(`127.0.0.1:${port}`);
  return { tag, data: { ...data, headers, _stamp: '' } };
}

it(
  'pepper prints and ends alike at both',
  async () => {
    const wrong: string[] = [];
    for (const [at, one] of COMMANDS.entries()) {
      const runs = async (who: string, port: number): Promise<readonly PepperRun[]> =>
        runPepper(lab, port, one, lab.folder(join(`pepper-${at}`, who)));
      const wanted = await runs('stock', stock.http.port);
      const seen = await runs('brine', brine.port);
      const exits = one.exits ?? one.runs.map(() => 0);
      expect(
        wanted.map(({ exit }) => exit),
        one.name,
      ).toEqual(exits);
      const cases = wanted.map((recorded, run) => ({
        recorded: { ...recorded, files: {} },
        seen: { ...seen[run], files: {}, replaced: [] },
      }));
      const given = JSON.stringify({ fixtures: FIXTURES, ours: false, cases });
      const { stdout } = await python(lab.venv, [COMPARE], given, { PYTHONDONTWRITEBYTECODE: '1' });
      const verdicts = JSON.parse(stdout) as readonly { equal: boolean; diff: string }[];
      for (const { equal, diff } of verdicts) if (!equal) wrong.push(`${one.name}\n${diff}`);
    }
    expect(wrong.join('\n\n')).toBe('');
  },
  LIMIT_MS,
);
