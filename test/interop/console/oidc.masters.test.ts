// Logging in to the console at a provider of OpenID Connect, with a whole master and two http-api.
import { BrineMaster, freePorts } from '@brine/testing';
import { OidcPeer } from '@brine/testing/oidc';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpReplica, startReplica } from '../../integration/security/http-replica.ts';
import { consolePath, ConsoleWindow, startBrowser } from './console-window.ts';

const PASSWORD = 'a-password-of-the-site';
const NAME = 'Example & <b>Sons</b>';

let peer: OidcPeer;
let master: BrineMaster;
let second: HttpReplica;
let browser: Browser;
let base = '';

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  const redirectUri = `${base}/login/oidc/callback`;
  peer = await OidcPeer.start(redirectUri);
  peer.accounts.set('anne', { preferred_username: 'anne', groups: ['ops'] });
  peer.accounts.set('eve', { preferred_username: 'eve', groups: ['opsx', '%', 'ops%'] });
  master = await BrineMaster.start({
    sharedsecret: PASSWORD,
    external_auth: { oidc: { 'ops%': ['test.*', '@events'] }, sharedsecret: { bob: ['test.*'] } },
    netapi_enable_clients: ['local', 'runner', 'wheel'],
    brine: {
      http: { port },
      oidc: {
        issuer: peer.issuer,
        client_id: peer.clientId,
        client_secret: peer.clientSecret,
        redirect_uri: redirectUri,
        name: NAME,
        name_claim: 'preferred_username',
      },
    },
  });
  [second, browser] = [await startReplica(master), await startBrowser()];
}, 600_000);
afterAll(async () => {
  await browser?.close();
  await second?.close();
  await master?.close();
  await peer?.close();
});

const button = (page: Page) => page.getByRole('button', { name: `Log in by ${NAME}`, exact: true });

/** The cookies that an answer sets, as a browser sends them back. */
function cookiesOf(answer: Response): string {
  return answer.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
}

/** Begins a log-in at one http-api, and ends it at another one. */
async function logIn(account: string, from: string, to: string) {
  const begun = await fetch(`${from}/login/oidc`, { redirect: 'manual' });
  expect(begun.status).toBe(303);
  const back = await peer.logIn(begun.headers.get('location') ?? '', account);
  const callback = `${to}${back.pathname}${back.search}`;
  const headers = { Cookie: cookiesOf(begun) };
  return { callback, headers, ended: await fetch(callback, { redirect: 'manual', headers }) };
}

const me = async (answer: Response, at: string) =>
  (await fetch(`${at}/v1/me`, { headers: { Cookie: cookiesOf(answer) } })).json();

test('a person logs in at the provider, and lands on the page that it wanted', async () => {
  const window = await ConsoleWindow.open(browser);
  const { page } = window;
  await page.goto(`${base}/console/jobs?fun=test.ping`);
  await button(page).click();
  await page.getByLabel('Account').fill('anne');
  await page.getByRole('button', { name: 'Continue' }).click();
  await window.settled(consolePath('/jobs'));
  expect(page.url()).toBe(`${base}/console/jobs?fun=test.ping`);
  await page.getByRole('button', { name: 'anne', exact: true }).click();
  await page.getByText('Logged in by oidc').waitFor();
  // The rights are those of the group.
  const shown = await page.evaluate('fetch("/v1/me").then((one) => one.json())');
  expect(shown).toMatchObject({ principal: 'anne', eauth: 'oidc', readsAll: false });
  expect(JSON.stringify(shown)).toContain('test.*');
  const cookies = await page.context().cookies(base);
  expect(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])).toContainEqual([
    'session_id',
    true,
    'Strict',
  ]);
  expect(cookies.some(({ name }) => name === 'oidc_flow')).toBe(false);
  expect(window.errors).toEqual([]);
  expect(window.failures).toEqual([]);
  await window.close();
});

test('one http-api begins a log-in, and another one ends it', async () => {
  for (const [from, to] of [
    [base, second.base],
    [second.base, base],
  ] as const) {
    const { ended } = await logIn('anne', from, to);
    expect(ended.status).toBe(303);
    expect(ended.headers.get('location')).toBe('/console/');
    for (const at of [base, second.base]) {
      expect(await me(ended, at)).toMatchObject({ principal: 'anne', eauth: 'oidc' });
    }
  }
});

test('a log-in is good once, and in its own browser', async () => {
  const { callback, headers } = await logIn('anne', base, base);
  const ends = async (init: object) =>
    (await fetch(callback, { redirect: 'manual', ...init })).headers.get('location');
  expect(await ends({ headers })).toBe('/console/#log-in=refused');
  expect(await ends({})).toBe('/console/#log-in=stale');
  const other = await fetch(`${base}/login/oidc`, { redirect: 'manual' });
  expect(await ends({ headers: { Cookie: cookiesOf(other) } })).toBe('/console/#log-in=refused');
});

test('groups are what they are, and no patterns', async () => {
  const { ended } = await logIn('eve', base, base);
  const shown = await me(ended, base);
  expect(shown).toMatchObject({ principal: 'eve' });
  expect(JSON.stringify(shown)).not.toContain('test.*');
});

test('a name and a password are refused, with where one logs in', async () => {
  const body = { username: 'anne', password: 'x', eauth: 'oidc' };
  const post = (path: string, sent: object) =>
    fetch(base + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(sent),
    });
  for (const [path, sent] of [
    ['/login', body],
    ['/v1/session', body],
  ] as const) {
    const refused = await post(path, sent);
    expect(refused.status).toBe(401);
    expect(await refused.text()).toContain('/login/oidc');
  }
  const low = { client: 'local', tgt: '*', fun: 'test.ping', ...body };
  expect((await post('/run', [low])).status).toBe(401);
});

test('log-ins are on record with their principal', async () => {
  const args = ['audit.list', 'kind=token', 'limit=1000', '--out', 'json'];
  const { stdout } = await master.brine('run', args);
  expect(stdout).toContain('"principal": "anne"');
  expect(stdout).toContain('"outcome": "refused"');
  expect(stdout).not.toContain('code=');
});

test('a provider that is away is named, and others log in', async () => {
  await peer.close();
  const { ended } = await logInWhileAway();
  expect(ended).toBe('/console/#log-in=away');
  const window = await ConsoleWindow.open(browser);
  const { page } = window;
  await page.goto(`${base}${ended}`);
  await page.getByRole('alert').getByText('does not answer').waitFor();
  expect(page.url()).toBe(`${base}/console/`);
  await page.getByRole('textbox', { name: 'User' }).fill('bob');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('button', { name: 'bob', exact: true }).waitFor();
  await window.close();
});

/** Comes back from a provider that ends meanwhile: what it has described is still known. */
async function logInWhileAway(): Promise<{ readonly ended: string | null }> {
  const begun = await fetch(`${base}/login/oidc`, { redirect: 'manual' });
  const location = begun.headers.get('location') ?? '';
  if (!location.startsWith(peer.issuer)) return { ended: location };
  const state = new URL(location).searchParams.get('state') ?? '';
  const query = new URLSearchParams({ code: 'a-code', state, iss: peer.issuer });
  const headers = { Cookie: cookiesOf(begun) };
  const callback = `${base}/login/oidc/callback?${query.toString()}`;
  const ended = await fetch(callback, { redirect: 'manual', headers });
  return { ended: ended.headers.get('location') };
}
