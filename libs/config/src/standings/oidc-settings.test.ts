// The provider of OpenID Connect: which addresses a master takes, and when it serves the log-in.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadMasterConfig } from '../master.ts';
import { oidcSettings } from './oidc-settings.ts';

const dir = mkdtempSync(join(tmpdir(), 'brine-oidc-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const OIDC = {
  issuer: 'https://sso.example.com/realms/a',
  client_id: 'brine',
  client_secret: 'a-secret',
  redirect_uri: 'https://salt.example.com/login/oidc/callback',
};

function load(oidc: object, external_auth: object = { oidc: {} }) {
  writeFileSync(join(dir, 'master'), JSON.stringify({ external_auth, brine: { oidc } }));
  return loadMasterConfig({ configDir: dir, env: {} }).options;
}

test('the log-in is served where external_auth has it, and all of its settings are there', () => {
  expect(oidcSettings(load(OIDC))).toMatchObject({
    issuer: OIDC.issuer,
    clientId: 'brine',
    redirectUri: OIDC.redirect_uri,
    nameClaim: 'sub',
    groupsClaim: 'groups',
    scopes: ['openid', 'profile'],
    origins: [],
  });
  expect(oidcSettings(load(OIDC, { pam: {} }))).toBeUndefined();
  for (const name of Object.keys(OIDC)) {
    const { [name as 'issuer']: _, ...others } = OIDC;
    expect(oidcSettings(load(others))).toBeUndefined();
  }
});

test.each(['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:80/x', 'https://a.b/c/'])(
  'the address %s of a provider is taken',
  (issuer) => expect(oidcSettings(load({ ...OIDC, issuer }))?.issuer).toBe(issuer),
);

const UNFIT = [
  'http://sso.example.com',
  'http://127.0.0.1.evil.example',
  'http://10.0.0.1',
  'https://user:password@sso.example.com',
  'https://sso.example.com/?a=b',
  'https://sso.example.com/#a',
  'ftp://127.0.0.1',
  'javascript:alert(1)',
  'sso.example.com',
  '',
];
test.each(UNFIT)('the address %j of a provider is refused at the start', (issuer) => {
  expect(() => load({ ...OIDC, issuer })).toThrow('https://');
  expect(() => load({ ...OIDC, origins: [issuer] })).toThrow('https://');
});

test('browsers come back to the one path of the log-in', () => {
  for (const redirect_uri of [
    'https://salt.example.com/',
    'http://salt.example.com/login/oidc/callback',
    'https://salt.example.com/login/oidc/callback?a=b',
    'https://salt.example.com/login/oidc/callback/',
  ]) {
    expect(() => load({ ...OIDC, redirect_uri })).toThrow('/login/oidc/callback');
  }
  const below = 'https://salt.example.com/salt/login/oidc/callback';
  expect(oidcSettings(load({ ...OIDC, redirect_uri: below }))?.redirectUri).toBe(below);
});

test('an origin has no path', () => {
  expect(() => load({ ...OIDC, origins: ['https://keys.example.com/'] })).toThrow('origins');
  expect(oidcSettings(load({ ...OIDC, origins: 'https://keys.example.com' }))?.origins).toEqual([
    'https://keys.example.com',
  ]);
});
