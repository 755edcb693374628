// Log-ins by HTTP over two http-api processes of one master: codes, sessions, guesses, traces.
import { BrineMaster, freePorts } from '@brine/testing';
import { type AllowedPlace, foundLines, searchSinks } from '@brine/testing/sinks';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstOf, type HttpReplica, startReplica } from './http-replica.ts';

const PASSWORD = 'a-password-of-the-site';
const WRONG_PASSWORD = 'a-password-that-is-wrong';
const ALICE = { username: 'alice', password: PASSWORD, eauth: 'sharedsecret' };
const WRONG_CODE = 'w'.repeat(43);

let master: BrineMaster;
let second: HttpReplica;
/** Addresses of both. */
let bases: readonly string[] = [];
/** What must be in no sink, by a name. */
const secrets = new Map<string, string>([
  ['password', PASSWORD],
  ['wrong password', WRONG_PASSWORD],
  ['wrong code', WRONG_CODE],
]);

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly cookie: string;
  readonly json: Readonly<Record<string, unknown>>;
}

interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(base: string, path: string, { method, body, headers }: Asked = {}) {
  const answer = await fetch(base + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = (answer.headers.get('content-type') ?? '').includes('json');
  const json = (isJson ? JSON.parse(text) : {}) as Answer['json'];
  const [, cookie = ''] = /session_id=(\w+)/.exec(answer.headers.get('set-cookie') ?? '') ?? [];
  return { status: answer.status, code: json['code'] as string | undefined, cookie, json };
}

/** A code that `brine console` printed. */
async function newCode(): Promise<string> {
  const { code: exit, stdout, stderr } = await master.brine('console', []);
  expect({ exit, stderr }).toMatchObject({ exit: 0 });
  expect(stderr).toMatch(/^Good once, until \S+Z, as root\.$/m);
  const [, code = ''] = /\/console\/#code=([\w-]{43})\n$/.exec(stdout) ?? [];
  expect(stdout).toBe(`${bases[0]}/console/#code=${code}\n`);
  secrets.set(`code ${secrets.size}`, code);
  return code;
}

async function logIn(base: string, body: object): Promise<Answer> {
  const answer = await ask(base, '/v1/session', { body });
  if (answer.cookie !== '') secrets.set(`session ${secrets.size}`, answer.cookie);
  return answer;
}

const by = (cookie: string): Asked => ({ headers: { Cookie: `session_id=${cookie}` } });

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  master = await BrineMaster.start({
    sharedsecret: PASSWORD,
    external_auth: { sharedsecret: { alice: ['test.*', '@runner', '@events'] } },
    netapi_enable_clients: ['runner', 'wheel'],
    // Each worker has its own counts of failures.
    brine: { workers: 1, trace: 'all', http: { port } },
  });
  second = await startReplica(master);
  bases = [firstOf(port), second.base];
});
afterAll(async () => {
  await second?.close();
  await master?.close();
});

describe('a code of brine console', () => {
  test('gives the rights of the local key, at each replica', async () => {
    const [first = '', other = ''] = bases;
    const begun = await logIn(first, { code: await newCode() });
    expect(begun).toMatchObject({ status: 201, json: { principal: 'root', eauth: 'local key' } });
    const me = await ask(other, '/v1/me', by(begun.cookie));
    expect(me.json).toMatchObject({ principal: 'root', readsAll: true });
    const low = [{ client: 'wheel', fun: 'key.list_all' }];
    const called = await ask(other, '/', { ...by(begun.cookie), body: low });
    expect(called.status).toBe(200);
  });

  test('gives one session, also to replicas that take it at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const code = await newCode();
      const tries = [...bases, ...bases].map((base) => logIn(base, { code }));
      const answers = await Promise.all(tries);
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([201, 401, 401, 401]);
      const refused = answers.filter(({ status }) => status === 401);
      expect(new Set(refused.map(({ code: problem }) => problem))).toEqual(
        new Set(['log-in-refused']),
      );
      expect(refused.every(({ cookie }) => cookie === '')).toBe(true);
    }
  });
});

describe('a session', () => {
  test('is over at each replica as soon as it was left at one', async () => {
    const [first = '', other = ''] = bases;
    const { cookie } = await logIn(first, ALICE);
    expect((await ask(other, '/v1/me', by(cookie))).status).toBe(200);
    const left = await ask(first, '/v1/session', { ...by(cookie), method: 'DELETE' });
    expect(left.status).toBe(204);
    for (const base of bases) {
      expect(await ask(base, '/v1/me', by(cookie))).toMatchObject({ code: 'not-logged-in' });
      const token = { headers: { 'X-Auth-Token': cookie } };
      expect((await ask(base, '/stats', token)).status).toBe(401);
      expect((await ask(base, '/events', token)).status).toBe(401);
    }
  });

  test('has no id that a peer chose, at any replica', async () => {
    const [first = '', other = ''] = bases;
    const chosen = 'c0ffee'.padEnd(40, '0');
    const begun = await ask(first, '/v1/session', { ...by(chosen), body: ALICE });
    expect(begun.status).toBe(201);
    secrets.set('session beside a chosen one', begun.cookie);
    expect(begun.cookie).not.toBe(chosen);
    for (const base of [first, other]) {
      expect((await ask(base, '/v1/me', by(chosen))).status).toBe(401);
    }
    // One that another user has planted stays that user's.
    const planted = (await logIn(other, { code: await newCode() })).cookie;
    const own = (await ask(first, '/v1/session', { ...by(planted), body: ALICE })).cookie;
    secrets.set('session beside a planted one', own);
    expect((await ask(other, '/v1/me', by(planted))).json).toMatchObject({ principal: 'root' });
    expect((await ask(other, '/v1/me', by(own))).json).toMatchObject({ principal: 'alice' });
  });
});

describe('guesses', () => {
  const guess = (what: 'code' | 'password') => (base: string) =>
    logIn(base, what === 'code' ? { code: WRONG_CODE } : { ...ALICE, password: WRONG_PASSWORD });

  // Workers count them, by the address of the peer: replicas share the counts.
  test.each(['code', 'password'] as const)(
    'of a %s at one replica count at the other one',
    async (what) => {
      const [first = '', other = ''] = bases;
      const right = what === 'code' ? { code: await newCode() } : ALICE;
      const wrong = guess(what);
      const refused = await Promise.all(Array.from({ length: 12 }, () => wrong(first)));
      expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([401]));
      // The guesses go on meanwhile, as each failure is forgotten after some seconds.
      const stop = new AbortController();
      const guessing = (async () => {
        while (!stop.signal.aborted) await Promise.all([wrong(first), wrong(first), wrong(first)]);
      })();
      const limited = await logIn(other, right);
      stop.abort();
      await guessing;
      expect(limited).toMatchObject({ status: 401, code: 'log-in-refused' });
      // It was refused unchecked: the code is still good.
      let begun: Answer | undefined;
      await until(
        'the failures are forgotten',
        async () => (begun = await logIn(other, right)).status === 201,
        { withinMs: 90_000 },
      );
      expect(begun?.status).toBe(201);
    },
    180_000,
  );
});

/** Where secrets of this test may be, and why. Every other place is a leak. */
const ALLOWED: readonly AllowedPlace[] = [
  {
    sinks: /^(backup )?file (master|files)\/(conf\/master|config\/master|master)$/,
    secrets: /^password$/,
    why: 'the option `sharedsecret`, in the file of the operator',
  },
];

test('no code, session or password is in any sink of the master', async () => {
  // In an address and in a Referer too: neither is a place where a program of ours may keep it.
  const code = await newCode();
  for (const base of bases) {
    await ask(base, `/console/?code=${code}`, { headers: { Referer: `${base}/#code=${code}` } });
    await ask(base, `/v1/session?code=${code}`, { body: { code: WRONG_CODE } });
    await ask(base, `/v1/${code}`);
    await ask(base, `/hook/${code}`, { body: { code } });
  }
  const { cookie } = await logIn(bases[0] ?? '', ALICE);
  const headers = { 'X-Auth-Token': cookie };
  await ask(bases[1] ?? '', '/hook/ci', { headers, body: { build: 1 } });
  await ask(bases[1] ?? '', '/', { headers, body: [{ client: 'runner', fun: 'manage.up' }] });
  const text = await second.close();
  const more = [{ sink: 'log of the second http-api', bytes: Buffer.from(text) }];
  const sought = [...secrets].map(([name, value]) => ({ name, value }));
  const { leaks, searched } = await searchSinks(master, sought, { allow: ALLOWED, more });
  expect(foundLines(leaks)).toEqual([]);
  expect([...searched.keys()]).toEqual(
    expect.arrayContaining([
      ...['file', 'command line', 'brine status', 'stream EVENTS', 'table brine.audit.body'],
      ...['support-bundle file', 'backup file', 'stream KV_brine_codes', 'stream KV_brine_tokens'],
      'stream KV_brine_http_sessions',
    ]),
  );
  expect(secrets.size).toBeGreaterThan(15);
}, 300_000);

test('each code is on record, under the user of the key', async () => {
  const args = ['audit.list', 'kind=token', 'limit=1000', '--out', 'json'];
  const { stdout } = await master.brine('run', args);
  const made = [...stdout.matchAll(/"method": "code"/g)];
  expect(made.length).toBeGreaterThan(5);
  expect(stdout).toContain('"principal": "root"');
});
