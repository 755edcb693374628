// What a page of another origin can make a browser do, and what a browser keeps.
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeAuthority } from '@brine/crypt';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeScenes, raw, served, servedByTls } from '../../test/served-scene.ts';

const CREDENTIALS = { username: 'alice', password: 'right', eauth: 'pam' };
const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';
const CALL = [{ client: 'runner_async', fun: 'test.arg' }];

let dir: string;
let tls: { readonly crt: string; readonly key: string };
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-browsers-'));
  const from = Date.now() - 1_000;
  const made = await makeAuthority('localhost', { from, until: from + 86_400_000 });
  tls = { crt: join(dir, 'crt.pem'), key: join(dir, 'key.pem') };
  writeFileSync(tls.crt, made.certificate);
  writeFileSync(tls.key, made.key);
});
afterAll(() => rm(dir, { recursive: true }));
afterEach(closeScenes);

/** A request as bytes, on a connection of its own. */
function bytes(line: string, headers: Readonly<Record<string, string>>, body = ''): string {
  const all = { Host: 'gui', Connection: 'close', 'Content-Length': `${body.length}`, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

const cookiesIn = (text: string): string[] =>
  [...text.matchAll(/^set-cookie: (.*)\r$/gim)].map(([, cookie = '']) => cookie);

describe('the cookie over TLS', () => {
  const logIn = (headers: Readonly<Record<string, string>> = {}): string =>
    bytes('POST /login', { 'Content-Type': JSON_TYPE, ...headers }, JSON.stringify(CREDENTIALS));

  test('is bound to this host, and comes back by TLS alone', async () => {
    const { port } = await servedByTls(tls);
    const text = await raw(port, logIn(), { isTls: true });
    const [cookie = '', ...others] = cookiesIn(text);
    expect(others).toEqual([]);
    const [pair = '', ...attributes] = cookie.split('; ');
    const [, token = ''] = /^x-auth-token: (\w{40})\r$/im.exec(text) ?? [];
    expect(pair).toBe(`__Host-session_id=${token}`);
    expect(attributes.filter((one) => !/^(Max-Age|Expires)=/.test(one)).sort()).toEqual([
      'HttpOnly',
      'Path=/',
      'SameSite=Strict',
      'Secure',
    ]);
  });

  test.each(['__Host-session_id', 'session_id'])('counts under the name %s', async (name) => {
    const { port, token } = await servedByTls(tls);
    const asked = bytes('GET /stats', { Cookie: `${name}=${token}` });
    expect(await raw(port, asked, { isTls: true })).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('is preferred to one that another host of the site has set', async () => {
    const { scene, port, token } = await servedByTls(tls);
    const planted = await scene.logIn('mallory');
    const Cookie = `session_id=${planted}; __Host-session_id=${token}`;
    await raw(port, bytes('POST /logout', { Cookie }), { isTls: true });
    expect(await scene.sessions.find(token)).toBeUndefined();
    expect(await scene.sessions.find(planted)).toBeDefined();
  });

  test('is removed by a log-out in a form that browsers take', async () => {
    const { port, token } = await servedByTls(tls);
    const text = await raw(port, bytes('POST /logout', { 'X-Auth-Token': token }), { isTls: true });
    const [cookie = ''] = cookiesIn(text);
    expect(cookie).toMatch(/^__Host-session_id=; /);
    for (const part of ['Path=/', 'Secure', 'Expires=Thu, 01 Jan 1970']) {
      expect(cookie).toContain(part);
    }
  });

  test('of a page of the same host without TLS is refused', async () => {
    const { port, token } = await servedByTls(tls);
    const Cookie = `__Host-session_id=${token}`;
    const ask = (Origin: string) =>
      raw(port, bytes('POST /logout', { Cookie, Origin }), { isTls: true });
    expect(await ask('http://gui')).toMatch(/^HTTP\/1\.1 403 /);
    expect(await ask('https://gui')).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a session that another has chosen', () => {
  const CHOSEN = 'c0ffee'.padEnd(40, '0');

  test.each([
    ['a cookie', { Cookie: `session_id=${CHOSEN}` }],
    ['a cookie with the prefix', { Cookie: `__Host-session_id=${CHOSEN}` }],
    ['a header', { 'X-Auth-Token': CHOSEN }],
  ])('is not taken from %s', async (_, headers) => {
    const { ask, post, scene } = await served();
    const answer = await post('/login', CREDENTIALS, headers);
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain(CHOSEN);
    expect(answer.headers.get('x-auth-token')).not.toBe(CHOSEN);
    expect((await ask('/stats', { headers: { 'X-Auth-Token': CHOSEN } })).status).toBe(401);
    expect(await scene.sessions.find(CHOSEN)).toBeUndefined();
  });

  test('does not become that of the user who logs in: it gets an id of its own', async () => {
    const { scene, post } = await served();
    const planted = await scene.logIn('mallory');
    const answer = await post('/login', CREDENTIALS, { Cookie: `session_id=${planted}` });
    const id = answer.headers.get('x-auth-token') ?? '';
    expect(id).not.toBe(planted);
    expect((await scene.sessions.find(planted))?.session.user).toBe('mallory');
    expect((await scene.sessions.find(id))?.session.user).toBe('alice');
  });
});

describe('a page of another origin', () => {
  /** What browsers add, by where the page is from. */
  const PAGES: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['another site', { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }],
    ['another port of this host', { Origin: 'http://gui:9999', 'Sec-Fetch-Site': 'same-site' }],
    ['another port, without TLS', { Origin: 'http://gui:9999' }],
    ['a host of the same site', { Origin: 'http://x.gui', 'Sec-Fetch-Site': 'same-site' }],
    ['a file or a sandbox', { Origin: 'null' }],
    ['a name that ends alike', { Origin: 'http://evil-gui' }],
    ['a name with ours as user', { Origin: 'http://gui@evil.example' }],
    ['two origins', { Origin: 'http://gui, http://evil.example' }],
  ];
  /** What it can send without asking first. */
  const BODIES: readonly (readonly [string, string, string])[] = [
    ['a form', FORM, 'client=runner_async&fun=test.arg'],
    ['plain text', 'text/plain', JSON.stringify(CALL)],
    ['JSON', JSON_TYPE, JSON.stringify(CALL)],
  ];
  const PATHS = ['/', '/minions', '/jobs', '/run', '/hook/x', '/keys', '/logout', '/token'];
  const ATTACKS = PAGES.flatMap(([page, headers]) =>
    BODIES.map(([kind, type, body]) => ({ page, kind, headers, type, body })),
  );

  test.each(ATTACKS)('$page calls nothing by $kind', async ({ headers, type, body }) => {
    const { scene, port, token } = await served();
    for (const path of PATHS) {
      const Cookie = `session_id=${token}`;
      const asked = bytes(`POST ${path}`, { Cookie, 'Content-Type': type, ...headers }, body);
      expect(await raw(port, asked)).toMatch(/^HTTP\/1\.1 403 /);
    }
    expect(scene.master.loads).toEqual([]);
    expect(scene.hooks).toEqual([]);
    expect(await scene.sessions.find(token)).toBeDefined();
  });

  test('the same calls of our own page and of programs are done', async () => {
    const { scene, port, token } = await served();
    const Cookie = `session_id=${token}`;
    for (const headers of [{ Origin: 'http://gui', 'Sec-Fetch-Site': 'same-origin' }, {}]) {
      for (const [, type, body] of BODIES) {
        const asked = bytes('POST /', { Cookie, 'Content-Type': type, ...headers }, body);
        expect(await raw(port, asked)).toMatch(/^HTTP\/1\.1 200 /);
      }
    }
    expect(scene.master.loads).toHaveLength(6);
  });

  test('a method in a field, in the query or in a header changes none', async () => {
    const { scene, ask, post, token } = await served();
    const Cookie = `session_id=${token}`;
    await post('/', '_method=DELETE', { 'Content-Type': FORM, Cookie, Origin: 'http://evil' });
    await ask('/?_method=POST', { headers: { Cookie, 'X-HTTP-Method': 'POST' } });
    expect(scene.master.loads).toEqual([]);
  });

  test('logs no browser in under the name of another', async () => {
    const { scene, port } = await served({ origins: ['https://gui.example'] });
    const form = 'username=alice&password=right&eauth=pam';
    const from = (headers: Readonly<Record<string, string>>) =>
      raw(port, bytes('POST /login', { 'Content-Type': FORM, ...headers }, form));
    const evil = await from({ Origin: 'http://gui:9', 'Sec-Fetch-Site': 'same-site' });
    expect(evil).toMatch(/^HTTP\/1\.1 403 /);
    expect(cookiesIn(evil)).toEqual([]);
    expect(scene.master.loads).toEqual([]);
    const pages: Readonly<Record<string, string>>[] = [
      { Origin: 'http://gui', 'Sec-Fetch-Site': 'same-origin' },
      { Origin: 'https://gui.example', 'Sec-Fetch-Site': 'cross-site' },
      // Behind a proxy that does not pass our name, without TLS.
      { Origin: 'http://proxy.example' },
      {},
    ];
    for (const page of pages) expect(await from(page)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('CORS', () => {
  const preflight = (Origin: string) => ({
    method: 'OPTIONS',
    headers: {
      Origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'X-Auth-Token, Content-Type',
    },
  });
  const allowed = (headers: Headers): string[] =>
    [...headers.keys()].filter((name) => name.startsWith('access-control-'));
  const OTHERS = [
    'https://evil.example',
    'https://gui.example.evil.example',
    'https://gui.example:444',
    'http://gui.example',
    'HTTPS://GUI.EXAMPLE',
    'https://gui.example/',
    'null',
    '*',
  ];

  test.each(OTHERS)('the origin %s is not allowed', async (origin) => {
    const { ask, known } = await served({ origins: ['https://gui.example'] });
    for (const path of ['/', '/login', '/events/x', '/none', '/stats']) {
      expect(allowed((await ask(path, preflight(origin))).headers)).toEqual([]);
      const answer = await ask(path, { headers: { ...known, Origin: origin } });
      expect(allowed(answer.headers)).toEqual([]);
      expect(answer.headers.get('vary')).toBe('Origin');
    }
  });

  test('a listed origin is allowed, for errors too, and may send the token', async () => {
    const { ask } = await served({ origins: ['https://gui.example'] });
    const { status, headers } = await ask('/login', preflight('https://gui.example'));
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-headers')).toContain('X-Auth-Token');
    expect(headers.get('access-control-allow-credentials')).toBe('true');
    const error = await ask('/minions', { headers: { Origin: 'https://gui.example' } });
    expect(error.status).toBe(401);
    expect(error.headers.get('access-control-allow-origin')).toBe('https://gui.example');
  });

  test('without the option no answer has such a header', async () => {
    const { ask } = await served();
    const { status, headers } = await ask('/', preflight('https://gui.example'));
    expect(status).toBe(204);
    expect(allowed(headers)).toEqual([]);
  });
});
