import { fileURLToPath } from 'node:url';
import { PROBLEMS } from '@brine/api';
import { until } from '@brine/testing/waits';
import { mapOf, type SaltMap, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { type ApiDocument, pageOf } from '../../test/api-document.ts';
import { type SceneOptions, usualAnswer } from '../../test/api-scene.ts';
import { closeScenes, raw, type Sent, served as servedScene } from '../../test/served-scene.ts';

afterEach(closeScenes);

/** A served scene, and how to ask `/v1` there. */
async function served(options: SceneOptions = {}) {
  const { scene, token, ask: askScene } = await servedScene(options);
  const ask = async (path: string, sent: Sent = {}) => {
    const answer = await askScene(`/v1${path}`, sent);
    const isJson = (answer.headers.get('content-type') ?? '').includes('json');
    const json = (isJson ? JSON.parse(answer.text) : undefined) as Record<string, unknown>;
    return { ...answer, json };
  };
  return { scene, token, ask, known: { Authorization: `Bearer ${token}` } };
}

const WEBS = ['web1', 'web2', 'web3'];

/** Rights of a narrow user; three minions match each target. */
function narrow(load: SaltMap) {
  switch (textOf(load, 'cmd')) {
    case 'get_token':
      return mapOf({
        token: 'abc123',
        name: 'alice',
        eauth: 'pam',
        start: 1,
        expire: 4e9,
        groups: ['ops'],
      });
    case 'brine_rights':
      return mapOf({
        principal: 'alice',
        acl: [
          'test.*',
          mapOf({ 'web*': [mapOf({ 'cmd.run': mapOf({ args: ['ls', null] }) })] }),
          '@jobs',
        ],
        reach: mapOf({ 'web*': ['web1'] }),
      });
    case 'brine_resolve':
      return textOf(load, 'fun') === 'test.ping'
        ? mapOf({ minions: [...WEBS], missing: ['no1'], count: 3, digest: 'd3' })
        : mapOf({
            error: mapOf({ name: 'AuthorizationError', message: 'Authorization error occurred.' }),
          });
    default:
      return usualAnswer(load);
  }
}

describe('a session', () => {
  test('begins with a log-in, is shown, and ends', async () => {
    const { ask, scene } = await served();
    const body = { username: 'alice', password: 'right', eauth: 'pam' };
    const begun = await ask('/session', { method: 'POST', body });
    expect(begun.status).toBe(201);
    expect(begun.json).toMatchObject({ principal: 'alice', eauth: 'pam' });
    expect(begun.json['expires']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const cookie = begun.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
    expect(begun.text).not.toContain(/session_id=([0-9a-f]+)/.exec(cookie)?.[1]);
    const headers = { Cookie: cookie.split(';')[0] ?? '' };
    expect((await ask('/session', { headers })).json).toEqual(begun.json);
    const ended = await ask('/session', { method: 'DELETE', headers });
    expect({ status: ended.status, text: ended.text }).toEqual({ status: 204, text: '' });
    expect((await ask('/session', { headers })).json).toMatchObject({ code: 'not-logged-in' });
    const revoked = scene.master.loads.filter((load) => textOf(load, 'query') === 'del_token');
    expect(revoked).toHaveLength(1);
  });

  test('is refused with a wrong password, in a form that does not name the reason', async () => {
    const { ask } = await served({
      answer: (load) => (textOf(load, 'cmd') === 'mk_token' ? '' : 1),
    });
    const body = { username: 'alice', password: 'wrong', eauth: 'pam' };
    const refused = await ask('/session', { method: 'POST', body });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('content-type')).toContain('application/problem+json');
    expect(refused.json).toEqual({
      type: '/v1/docs#log-in-refused',
      title: PROBLEMS['log-in-refused'].title,
      status: 401,
      instance: '/v1/session',
      code: 'log-in-refused',
      retryable: false,
    });
  });

  test('is begun with a body of 1 MiB at most, and in a place of its address', async () => {
    const { ask, scene } = await served();
    const body = { username: 'alice', password: 'right', eauth: 'pam' };
    const logIn = (more: object = {}) =>
      ask('/session/', { method: 'POST', body: { ...body, ...more } });
    expect((await logIn({ password: 'x'.repeat(1_048_576) })).json).toMatchObject({
      status: 413,
      code: 'too-large',
    });
    const places = Array.from({ length: 512 }, () => scene.room.enter(['address 127.0.0.1']));
    expect((await logIn()).json).toMatchObject({ status: 503, code: 'too-many' });
    expect(scene.master.loads).toEqual([]);
    for (const leave of places) leave();
    expect((await logIn()).status).toBe(201);
    expect(scene.room.stats.inHand).toBe(0);
  });

  test('is not begun for a page of another origin', async () => {
    const { ask, token } = await served();
    const headers = { Cookie: `session_id=${token}`, Origin: 'http://evil.example' };
    const refused = await ask('/session', { method: 'DELETE', headers });
    expect(refused.json).toMatchObject({ status: 403, code: 'other-origin' });
    expect((await ask('/session', { headers: { 'X-Auth-Token': token } })).status).toBe(200);
  });
});

describe('a request', () => {
  test.each([
    ['without a log-in', '/me', {}, 'not-logged-in'],
    [
      'with a token that is none',
      '/me',
      { headers: { Authorization: 'Bearer zz' } },
      'not-logged-in',
    ],
  ])('%s is refused', async (_, path, sent: Sent, code) => {
    const { ask } = await served();
    expect((await ask(path, sent)).json).toMatchObject({ code, status: 401 });
  });

  test.each([
    ['an unknown address', { path: '/nothing' }, 404, 'not-found'],
    ['a method that is not there', { path: '/me', method: 'DELETE' }, 405, 'bad-method'],
    ['a body that is no JSON', { body: '{' }, 400, 'bad-request'],
    ['a body with an unknown field', { body: { tgt: '*', more: 1 } }, 400, 'bad-request'],
    ['a body without a target', { body: {} }, 400, 'bad-request'],
    ['a target that a worker refuses', { body: { tgt: 'a\u0000' } }, 400, 'bad-request'],
    ['half of a pair in a target', { body: '{"tgt":"\\ud800"}' }, 400, 'bad-request'],
    [
      'a body of another type',
      { body: 'tgt=*', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      415,
      'not-json',
    ],
  ])('%s: a problem', async (_, sent: Sent & { readonly path?: string }, status, code) => {
    const { ask, known, scene } = await served();
    const { path = '/targets/resolve', method = 'POST', body, headers = {} } = sent;
    const answer = await ask(path, { method, body, headers: { ...known, ...headers } });
    expect(answer.json).toMatchObject({ status, code });
    expect(answer.status).toBe(status);
    expect(scene.master.loads).toEqual([]);
  });

  test('is refused as long as the master does not answer', async () => {
    const { ask, known, scene } = await served();
    scene.master.expected = false;
    const answer = await ask('/me', { headers: known });
    expect(answer.json).toMatchObject({ code: 'no-master', retryable: true });
    expect(answer.headers.get('retry-after')).toBe('5');
  });

  test('is refused where its user has as many in hand as one may have', async () => {
    const { ask, known, scene } = await served({ answer: narrow });
    const places = Array.from({ length: 512 }, () => scene.room.enter(['user pam alice']));
    const resolve = () =>
      ask('/targets/resolve', { method: 'POST', headers: known, body: { tgt: '*' } });
    const refused = await resolve();
    expect(refused.json).toMatchObject({ status: 503, code: 'too-many', retryable: true });
    expect(refused.headers.get('retry-after')).toBe('2');
    for (const leave of places) leave();
    expect((await resolve()).status).toBe(200);
    await until('its place is free', () => scene.room.stats.inHand === 0);
  });

  test.each([
    [false, 403, 'forbidden'],
    [true, 401, 'not-logged-in'],
  ])('that lacks a right is refused, its log-in over: %s', async (isOver, status, code) => {
    // A master names a missing right as it names a bad token.
    const error = mapOf({ name: 'TokenAuthenticationError', message: 'Authentication failure' });
    let isRefused = false;
    const { ask, known } = await served({
      answer: (load) => {
        if (isRefused && isOver) return mapOf({});
        isRefused = textOf(load, 'cmd') === 'brine_resolve';
        return isRefused ? mapOf({ error }) : narrow(load);
      },
    });
    const sent = { method: 'POST', headers: known, body: { tgt: '*' } };
    expect((await ask('/targets/resolve', sent)).json).toMatchObject({ status, code });
  });

  test('that fails by a fault of ours does not show it', async () => {
    const { ask, known, scene } = await served({
      answer: () => {
        throw new Error('secret');
      },
    });
    const answer = await ask('/me', { headers: known });
    expect(answer.json).toMatchObject({ code: 'fault', status: 500 });
    expect(answer.text).not.toContain('secret');
    expect(scene.faults).toEqual(['GET /v1/me: Error: secret']);
  });
});

test('who asks sees its rights', async () => {
  const { ask, known, scene } = await served({ answer: narrow });
  expect((await ask('/me', { headers: known })).json).toEqual({
    principal: 'alice',
    eauth: 'pam',
    groups: ['ops'],
    expires: '2096-10-02T07:06:40.000000Z',
    readsAll: false,
    clients: [
      'local',
      'local_async',
      'local_batch',
      'runner',
      'runner_async',
      'wheel',
      'wheel_async',
    ],
    rights: [
      { on: '*', functions: [{ fun: 'test.*' }] },
      {
        on: 'web*',
        functions: [{ fun: 'cmd.run', arguments: [{ args: ['ls', null], kwargs: {} }] }],
      },
      { on: '@jobs', functions: [{ fun: '.*' }] },
    ],
  });
  const asked = scene.master.loads.map((load) => textOf(load, 'cmd'));
  expect(asked).toEqual(['get_token', 'brine_rights']);
});

test.each([
  ['/v1/me', 'DELETE'],
  ['/v1/me', 'PATCH'],
  ['/v1/me', 'TRACE'],
  ['/v1/me', 'QUERY'],
  ['/v1/log-ins', 'TRACE'],
])(
  // An address that is open to all refuses it to all.
  'an address refuses by name, with a log-in or without: %s, %s',
  async (path, method) => {
    const { port, token } = await servedScene();
    const log = path === '/v1/me' ? `Authorization: Bearer ${token}\r\n` : '';
    const head = `Host: x\r\n${log}Connection: close\r\n\r\n`;
    const answer = await raw(port, `${method} ${path} HTTP/1.1\r\n${head}`);
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer).toContain('"code":"bad-method"');
    expect(answer.toLowerCase()).toContain('allow: get, head');
  },
);

test('a target is counted with the rights of its caller', async () => {
  const { ask, known, scene } = await served({ answer: narrow });
  const resolve = (body: object) =>
    ask('/targets/resolve', { method: 'POST', headers: known, body });
  const { json } = await resolve({ tgt: '*' });
  // None of them has a key here, so none is present.
  const counted = { count: 3, digest: 'd3', present: 0, missing: ['no1'] };
  expect(json).toEqual({ ...counted, sample: WEBS });
  const refused = await resolve({ tgt: ['web1'], tgtType: 'list', fun: 'cmd.run' });
  expect(refused.json).toMatchObject({ status: 403, code: 'forbidden' });
  const load = scene.master.loads.find((one) => textOf(one, 'cmd') === 'brine_resolve');
  expect(load?.has('key')).toBe(false);
  // More of them than are shown: their presence is looked up.
  expect(load?.get('sample')).toBe(20_000);
});

test('the document names each route and each error', async () => {
  const { ask } = await served();
  const { json } = await ask('/openapi.json');
  expect(json['openapi']).toBe('3.1.0');
  const paths = json['paths'] as Record<string, object>;
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining(['/v1/me', '/v1/session', '/v1/targets/resolve']),
  );
  const page = await ask('/docs');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  for (const code of Object.keys(PROBLEMS)) expect(page.text).toContain(`id="${code}"`);
  for (const path of Object.keys(paths)) expect(page.text).toContain(path);
});

const PAGE = fileURLToPath(new URL('../../../../docs/api.md', import.meta.url));

// After a change of the API: npx vitest run --project served libs/netapi/src/v1 -u
test('the documentation has the document', async () => {
  const { ask } = await served();
  const { json } = await ask('/openapi.json');
  await expect(pageOf(json as unknown as ApiDocument)).toMatchFileSnapshot(PAGE);
});
