// The browser's side of a log-in at a provider: cookies, pages, and refusals.
import { mapOf, type SaltMap, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { tokenOf, usualAnswer } from '../../test/api-scene.ts';
import { closeScenes, lastScene, served } from '../../test/served-scene.ts';

const PROVIDER = 'https://sso.example/auth?state=s';
const FLOW = 'eyJhbGciOiJkaXIifQ..aaaa.bbbb.cccc';
const BACK = 'code=a-code&state=s';
const CALLBACK = `/login/oidc/callback?${BACK}`;
const externalAuth = { oidc: { 'ops%': ['test.*'] }, pam: { alice: ['.*'] } };

afterEach(closeScenes);

/** A master that begins each log-in, and ends those with {@link FLOW}. */
function answer(load: SaltMap): ReturnType<typeof usualAnswer> {
  if (textOf(load, 'cmd') === 'brine_oidc') return mapOf({ address: PROVIDER, flow: FLOW });
  if (textOf(load, 'eauth') !== 'oidc') return usualAnswer(load);
  return load.get('flow') === FLOW ? new Map(tokenOf('anne')).set('eauth', 'oidc') : '';
}

async function site(options: Parameters<typeof served>[0] = {}) {
  const { base, ask, scene } = await served({ answer, externalAuth, ...options });
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const given = await fetch(base + path, { headers, redirect: 'manual' });
    const set = given.headers.getSetCookie();
    const cookie = (name: string) => set.find((one) => one.startsWith(`${name}=`));
    return {
      status: given.status,
      to: given.headers.get('location'),
      headers: given.headers,
      cookie,
    };
  };
  /** Begins; resolves with the header of the browser's cookie. */
  const begun = async (query = '') => {
    const { cookie } = await get(`/login/oidc${query}`);
    return { Cookie: (cookie('oidc_flow') ?? '').split(';')[0] ?? '' };
  };
  return { base, ask, scene, get, begun };
}

const loads = () => (lastScene()?.master.loads ?? []).map((load) => textOf(load, 'cmd'));

describe('a log-in elsewhere', () => {
  test('sends the browser to the provider, with a cookie that no script reads', async () => {
    const { get } = await site();
    const { status, to, headers, cookie } = await get('/login/oidc');
    expect({ status, to }).toEqual({ status: 303, to: PROVIDER });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(cookie('oidc_flow')).toMatch(
      /^oidc_flow=[\w.-]+~[\w-]+; Max-Age=(?:600|599); Path=\/; .*HttpOnly; SameSite=Lax$/,
    );
    expect(cookie('session_id')).toBeUndefined();
  });

  test('comes back as any other log-in: with a session, and without the flow', async () => {
    const { get, begun, ask, scene } = await site();
    const { status, to, cookie } = await get(CALLBACK, await begun());
    expect({ status, to }).toEqual({ status: 303, to: '/console/' });
    expect(cookie('session_id')).toMatch(/^session_id=[0-9a-f]{40}; .*HttpOnly; SameSite=Strict$/);
    expect(cookie('oidc_flow')).toMatch(/^oidc_flow=; /);
    const made = scene.master.loads.find((load) => textOf(load, 'cmd') === 'mk_token');
    expect(made).toEqual(mapOf({ eauth: 'oidc', flow: FLOW, callback: BACK, cmd: 'mk_token' }));
    const session = { Cookie: (cookie('session_id') ?? '').split(';')[0] ?? '' };
    expect(JSON.parse((await ask('/v1/session', { headers: session })).text)).toMatchObject({
      principal: 'anne',
      eauth: 'oidc',
    });
  });

  test('lands on the page of the console that one wanted', async () => {
    const { get, begun } = await site();
    for (const page of [
      '/console/jobs',
      '/console/minions?q=G%40os%3ADebian&open=a',
      '/console/',
    ]) {
      const cookie = await begun(`?to=${encodeURIComponent(page)}`);
      expect((await get(CALLBACK, cookie)).to).toBe(page);
    }
  });

  test('lands on no other page', async () => {
    const { get, begun } = await site();
    const wanted = [
      'https://evil.example/console/',
      '//evil.example/console/',
      '/\\evil.example/console/',
      '\\\\evil.example/console/',
      '/console/../../evil',
      '/console/..//evil.example/',
      '/console/%2e%2e/%2e%2e/logout',
      '/console',
      '/consolex/',
      '/logout',
      'javascript:alert(1)',
      'data:text/html,x',
      '/\t/evil.example/console/',
      'http:evil.example',
      'https://u:p@evil.example/',
      '',
      `/console/${'x'.repeat(2_000)}`,
    ];
    for (const page of wanted) {
      const cookie = await begun(`?to=${encodeURIComponent(page)}`);
      expect((await get(CALLBACK, cookie)).to, page).toBe('/console/');
    }
    expect((await get(CALLBACK, await begun('?to=/console/jobs&to=//evil.example'))).to).toBe(
      '/console/',
    );
    // Nor from a cookie that was changed, or where the cookie splits a header.
    for (const page of ['//evil.example', 'https://evil.example/', '/console/\r\nX-Evil: 1']) {
      const forged = `oidc_flow=${FLOW}~${Buffer.from(page).toString('base64url')}`;
      const { to, headers } = await get(CALLBACK, { Cookie: forged });
      expect(to).toMatch(/^\/console\/(?:X-Evil:%201)?$/);
      expect(headers.get('x-evil')).toBeNull();
    }
  });
});

describe('a log-in that is refused', () => {
  test('without the cookie of this browser asks the master nothing', async () => {
    const { get } = await site();
    const { status, to, cookie } = await get(CALLBACK);
    expect({ status, to }).toEqual({ status: 303, to: '/console/#log-in=stale' });
    expect(cookie('session_id')).toBeUndefined();
    expect(loads()).toEqual([]);
  });

  test('by the master leaves no session, and no flow', async () => {
    const { get } = await site();
    for (const flow of ['forged~', '~', 'x', FLOW.slice(1)]) {
      const { to, cookie } = await get(CALLBACK, { Cookie: `oidc_flow=${flow}` });
      expect(to).toBe('/console/#log-in=refused');
      expect(cookie('session_id')).toBeUndefined();
      expect(cookie('oidc_flow')).toMatch(/^oidc_flow=; /);
    }
  });

  test('shows the log-in page as away if the provider or the master does not answer', async () => {
    const error = mapOf({ name: 'SaltReqTimeoutError', message: 'away' });
    const { get } = await site({ answer: () => mapOf({ error }) });
    expect((await get('/login/oidc')).to).toBe('/console/#log-in=away');
    const cookie = { Cookie: `oidc_flow=${FLOW}~` };
    expect((await get(CALLBACK, cookie)).to).toBe('/console/#log-in=away');
    const gone = await site();
    gone.scene.master.expected = false;
    expect((await gone.get('/login/oidc')).to).toBe('/console/#log-in=away');
  });

  test('is one of an address that is not its user’s: api_acl', async () => {
    const rest = { api_acl: { users: { anne: ['192.0.2.1'], '*': ['127.0.0.1'] } } };
    const { get, begun } = await site({ rest });
    const { to, cookie } = await get(CALLBACK, await begun());
    expect(to).toBe('/console/#log-in=refused');
    expect(cookie('session_id')).toBeUndefined();
    expect(lastScene()?.master.loads.some((one) => textOf(one, 'query') === 'del_token')).toBe(
      true,
    );
  });

  test('is one that a link of another site begins: it leads to the page with the button', async () => {
    const { get } = await site();
    for (const site of ['cross-site', 'same-site']) {
      const { to, cookie } = await get('/login/oidc', { 'Sec-Fetch-Site': site });
      expect(to).toBe('/console/');
      expect(cookie('oidc_flow')).toBeUndefined();
    }
    expect(loads()).toEqual([]);
    // The provider itself is another site: its browser comes back.
    const back = { 'Sec-Fetch-Site': 'cross-site', Cookie: `oidc_flow=${FLOW}~` };
    expect((await get(CALLBACK, back)).to).toBe('/console/');
  });

  test('is one by another method than GET', async () => {
    const { base } = await site();
    for (const method of ['HEAD', 'POST', 'PUT', 'DELETE']) {
      const headers = { Cookie: `oidc_flow=${FLOW}~` };
      const refused = await fetch(base + CALLBACK, { method, headers, redirect: 'manual' });
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(refused.headers.getSetCookie()).toEqual([]);
    }
    expect(loads()).toEqual([]);
  });
});

test('a site without it shows and serves none', async () => {
  const { base, ask } = await served({ externalAuth: { pam: {} } });
  expect(JSON.parse((await ask('/v1/log-ins')).text)).toEqual({ modules: ['pam'] });
  for (const path of ['/login/oidc', CALLBACK]) {
    expect((await fetch(base + path, { redirect: 'manual' })).status).toBe(404);
  }
  const { ask: other } = await site();
  expect(JSON.parse((await other('/v1/log-ins')).text)).toEqual({
    modules: ['pam'],
    elsewhere: 'Example',
  });
});
