// Log-ins by OpenID Connect, at oidc-provider, and at a provider that attacks.
import type { ServerResponse } from 'node:http';
import { OidcPeer } from '@brine/testing/oidc';
import { until } from '@brine/testing/waits';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { LoginError } from '../login-module.ts';
import { FlowBox } from './flow-box.ts';
import { OddProvider } from './odd-provider.fixture.ts';
import { OidcLogin } from './oidc-login.ts';
import type { OidcOptions } from './oidc-options.ts';

const REDIRECT = 'http://127.0.0.1:4507/login/oidc/callback';
const BY: Omit<OidcOptions, 'issuer'> = {
  clientId: 'brine',
  clientSecret: 'the-secret-of-brine-at-the-provider',
  redirectUri: REDIRECT,
  scopes: ['openid', 'profile'],
  nameClaim: 'preferred_username',
  groupsClaim: 'groups',
  origins: [],
};

let troubles: string[];
beforeEach(() => void (troubles = []));

function loginAt(issuer: string, more: Partial<OidcOptions> = {}): OidcLogin {
  return new OidcLogin({ ...BY, issuer, ...more }, (text) => void troubles.push(text));
}

describe('at oidc-provider', () => {
  let peer: OidcPeer;
  let login: OidcLogin;
  beforeAll(async () => {
    peer = await OidcPeer.start(REDIRECT);
    peer.accounts.set('anne', { preferred_username: 'anne', groups: ['ops', 'dev'] });
    peer.accounts.set('bob', { preferred_username: 'bob' });
    peer.accounts.set('many', { preferred_username: 'many', _claim_names: { groups: 'x' } });
  });
  beforeEach(() => void (login = loginAt(peer.issuer)));
  afterAll(() => peer?.close());

  /** Begins and goes to the provider; resolves with what a browser has when it comes back. */
  async function atProvider(account: string, by = login) {
    const { address, flow } = await by.begin();
    const { search } = await peer.logIn(address, account);
    return { flow, callback: search.slice(1) };
  }

  test('a user logs in with the name and the groups of its claims', async () => {
    const { flow, callback } = await atProvider('anne');
    expect(await login.finish(flow, callback)).toEqual({ name: 'anne', groups: ['ops', 'dev'] });
    const bob = await atProvider('bob');
    expect(await login.finish(bob.flow, bob.callback)).toEqual({ name: 'bob', groups: [] });
    expect(troubles).toEqual([]);
  });

  test('the browser gets a challenge, and never the verifier or the secret', async () => {
    const { address, flow } = await login.begin();
    const { searchParams, origin } = new URL(address);
    expect(origin).toBe(peer.issuer);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      client_id: 'brine',
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: REDIRECT,
      scope: 'openid profile',
    });
    const opened = await new FlowBox({ ...BY, issuer: peer.issuer }).open(flow);
    const { verifier = '', nonce = '', state = '' } = opened ?? {};
    expect(searchParams.get('nonce')).toBe(nonce);
    expect(searchParams.get('state')).toBe(state);
    for (const secret of [verifier, nonce, state]) {
      expect(secret).toMatch(/^[\w-]{43}$/);
      expect(flow).not.toContain(secret);
    }
    expect(address).not.toContain(verifier);
    expect(address).not.toContain(BY.clientSecret);
  });

  test('one worker begins a log-in, and another one ends it', async () => {
    const { flow, callback } = await atProvider('anne', loginAt(peer.issuer));
    expect(await loginAt(peer.issuer).finish(flow, callback)).toMatchObject({ name: 'anne' });
    // Not so one of another client or provider.
    for (const other of [{ clientId: 'other' }, { clientSecret: 'other' }]) {
      const at = await atProvider('anne');
      expect(await loginAt(peer.issuer, other).finish(at.flow, at.callback)).toBeUndefined();
    }
  });

  test('a code is good once', async () => {
    const { flow, callback } = await atProvider('anne');
    expect(await login.finish(flow, callback)).toBeDefined();
    expect(await login.finish(flow, callback)).toBeUndefined();
    expect(troubles).toEqual([
      'external_auth:oidc: a log-in is refused: the provider does not take the code',
    ]);
  });

  test('the code of one browser is no log-in of another one', async () => {
    const [mine, other] = [await atProvider('bob'), await atProvider('anne')];
    expect(await login.finish(mine.flow, other.callback)).toBeUndefined();
    // Nor with the state of that browser: the verifier is the one of the log-in that was begun.
    const forged = new URLSearchParams(other.callback);
    forged.set('state', new URLSearchParams(mine.callback).get('state') ?? '');
    expect(await login.finish(mine.flow, String(forged))).toBeUndefined();
  });

  test.each([
    ['no state', (query: URLSearchParams) => query.delete('state')],
    ['a wrong state', (query: URLSearchParams) => query.set('state', 'x'.repeat(43))],
    ['two states', (query: URLSearchParams) => query.append('state', query.get('state') ?? '')],
    ['no code', (query: URLSearchParams) => query.delete('code')],
    ['a wrong code', (query: URLSearchParams) => query.set('code', 'x'.repeat(43))],
    ['two codes', (query: URLSearchParams) => query.append('code', 'x')],
    ['a wrong issuer', (query: URLSearchParams) => query.set('iss', 'https://evil.example')],
    ['an error beside the code', (query: URLSearchParams) => query.set('error', 'access_denied')],
    ['a long query', (query: URLSearchParams) => query.set('x', 'x'.repeat(10_000))],
  ])('what comes back with %s is refused', async (_, spoil) => {
    const { flow, callback } = await atProvider('anne');
    const query = new URLSearchParams(callback);
    spoil(query);
    expect(await login.finish(flow, String(query))).toBeUndefined();
    expect(troubles.join()).not.toContain('xxx');
  });

  test('a flow that is forged, cut, changed, of another kind or too old is refused', async () => {
    const { flow, callback } = await atProvider('anne');
    const changed = `${flow.slice(0, -5)}${flow.at(-5) === 'A' ? 'B' : 'A'}${flow.slice(-4)}`;
    const none = 'eyJhbGciOiJub25lIn0.eyJzdGF0ZSI6IngifQ.';
    for (const forged of ['', 'x', '....', none, flow.slice(1), changed, flow.repeat(3)]) {
      expect(await login.finish(forged, callback)).toBeUndefined();
    }
    vi.useFakeTimers({ now: Date.now() + 601_000, toFake: ['Date'] });
    try {
      expect(await login.finish(flow, callback)).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
    expect(await login.finish(flow, callback)).toBeDefined();
  });

  test('new keys of the provider count at once', async () => {
    const first = await atProvider('anne');
    expect(await login.finish(first.flow, first.callback)).toBeDefined();
    peer.rotateKeys();
    const second = await atProvider('anne');
    expect(await login.finish(second.flow, second.callback)).toMatchObject({ name: 'anne' });
    expect(troubles).toEqual([]);
  });

  test('a user with more groups than the token has room for is refused, with the reason', async () => {
    const { flow, callback } = await atProvider('many');
    expect(await login.finish(flow, callback)).toBeUndefined();
    expect(troubles).toHaveLength(1);
    expect(troubles[0]).toContain('too many groups for the claim groups');
  });

  test('a wrong secret, and an issuer written in another way, are named in the log', async () => {
    const wrong = loginAt(peer.issuer, { clientSecret: 'wrong' });
    const { flow, callback } = await atProvider('anne', wrong);
    expect(await wrong.finish(flow, callback)).toBeUndefined();
    await expect(loginAt(`${peer.issuer}/`).begin()).rejects.toThrow(LoginError);
    expect(troubles).toEqual([
      'external_auth:oidc: a log-in is refused: the provider does not take brine.oidc.client_id ' +
        'and client_secret',
      'brine.oidc.issuer is not written as the provider writes it',
    ]);
  });
});

describe('at a provider that attacks', () => {
  let odd: OddProvider;
  let login: OidcLogin;
  beforeEach(async () => {
    odd = await OddProvider.start();
    login = loginAt(odd.issuer, { nameClaim: 'sub' });
  });
  afterEach(() => odd.close());

  /** What becomes of a log-in there. */
  async function outcome(more: Readonly<Record<string, string>> = {}) {
    const { address, flow } = await login.begin();
    return login.finish(flow, odd.comeBack(address, more));
  }

  test('an honest answer logs in', async () => {
    expect(await outcome()).toEqual({ name: 'anne', groups: [] });
  });

  const now = () => Math.floor(Date.now() / 1_000);
  test.each([
    ['another nonce', () => ({ nonce: 'x'.repeat(43) }), 'nonce'],
    ['no nonce', () => ({ nonce: undefined }), 'nonce'],
    ['the audience of another client', () => ({ aud: 'other' }), 'aud'],
    ['two audiences, and another one in force', () => ({ aud: ['brine', 'x'], azp: 'x' }), 'azp'],
    ['no audience', () => ({ aud: undefined }), 'aud'],
    ['another issuer', () => ({ iss: 'https://evil.example' }), 'iss'],
    ['the issuer with a slash', () => ({ iss: `${odd.issuer}/` }), 'iss'],
    ['a time that is over', () => ({ exp: now() - 60, iat: now() - 300 }), 'exp'],
    ['no end', () => ({ exp: undefined }), 'exp'],
    ['a beginning to come', () => ({ nbf: now() + 300 }), 'nbf'],
  ])('a token with %s is refused', async (_, claims, named) => {
    odd.oddness = { claims: claims() };
    expect(await outcome()).toBeUndefined();
    expect(troubles).toHaveLength(1);
    expect(troubles[0]).toContain(named);
  });

  test('clocks may differ by thirty seconds, and by no more', async () => {
    odd.oddness = { claims: { exp: now() - 20, iat: now() - 300 } };
    expect(await outcome()).toBeDefined();
    odd.oddness = { claims: { exp: now() - 40, iat: now() - 300 } };
    expect(await outcome()).toBeUndefined();
  });

  const ALL = ['none', 'HS256', 'RS256'];
  test.each([
    ['no signature', 'none', undefined],
    ['no signature, which the provider declares', 'none', ALL],
    ['the public key as a secret', 'HS256', undefined],
    ['the public key as a secret, which the provider declares', 'HS256', ALL],
  ] as const)('a token with %s is refused', async (_, alg, declared) => {
    odd.oddness = {
      sign: (claims) => odd.unsigned(claims, alg),
      metadata: { id_token_signing_alg_values_supported: declared },
    };
    expect(await outcome()).toBeUndefined();
    expect(troubles).toHaveLength(1);
  });

  test('a token that a key signed which is not published is refused', async () => {
    odd.oddness = { sign: (claims) => odd.signed(claims, 'strange') };
    expect(await outcome()).toBeUndefined();
    expect(troubles.join()).toContain('signature');
  });

  test('a text that is not a token is refused', async () => {
    for (const token of ['', 'x', 'a.b.c', '{}', 'a.b.c.d.e']) {
      odd.oddness = { sign: () => token };
      expect(await outcome()).toBeUndefined();
    }
  });

  test('requests go to no other server, however the provider describes itself', async () => {
    const target = await OddProvider.start();
    try {
      for (const endpoint of ['token_endpoint', 'jwks_uri', 'authorization_endpoint']) {
        odd.oddness = { metadata: { [endpoint]: `${target.issuer}/latest/meta-data` } };
        await expect(loginAt(odd.issuer).begin()).rejects.toThrow('brine.oidc.origins');
      }
      for (const url of ['file:///etc/passwd', 'javascript:alert(1)', 'x', undefined, 7]) {
        odd.oddness = { metadata: { token_endpoint: url } };
        await expect(loginAt(odd.issuer).begin()).rejects.toThrow(LoginError);
      }
      const moved = (response: ServerResponse): void =>
        void response.writeHead(302, { Location: `${target.issuer}/x` }).end();
      odd.oddness = { serve: { '/.well-known/openid-configuration': moved } };
      await expect(loginAt(odd.issuer).begin()).rejects.toThrow(LoginError);
      odd.oddness = { serve: { '/token': moved } };
      expect(await outcome()).toBeUndefined();
      expect(target.asked).toEqual([]);
      // An origin that the operator names is one more.
      odd.oddness = { metadata: { jwks_uri: `${target.issuer}/jwks` } };
      login = loginAt(odd.issuer, { origins: [target.issuer], nameClaim: 'sub' });
      expect(await outcome()).toBeDefined();
      expect(target.asked).toEqual(['/jwks']);
    } finally {
      await target.close();
    }
  });

  test('an answer of any length is read to a limit', async () => {
    let isCut = false;
    odd.oddness = {
      serve: {
        '/token': (response) => {
          response.writeHead(200, { 'Content-Type': 'application/json' });
          response.on('close', () => (isCut = true));
          const more = (): void => {
            while (!isCut && response.write('x'.repeat(65_536)));
          };
          response.on('drain', more);
          more();
        },
      },
    };
    await expect(outcome()).rejects.toThrow('too long');
    await until('the connection is closed', () => isCut);
  });

  test('an answer that does not come ends the log-in, and nothing else', async () => {
    odd.oddness = { serve: { '/token': (response) => void response.writeHead(200).write('{') } };
    await expect(outcome()).rejects.toThrow('does not answer');
    odd.oddness = {};
    expect(await outcome()).toBeDefined();
  }, 30_000);

  test('a provider that fails is asked once in a while, and logged once', async () => {
    const broken = (response: ServerResponse): void => void response.writeHead(503).end();
    odd.oddness = { serve: { '/.well-known/openid-configuration': broken } };
    const tries = await Promise.allSettled(Array.from({ length: 50 }, () => login.begin()));
    expect(tries.every(({ status }) => status === 'rejected')).toBe(true);
    expect(odd.asked).toHaveLength(1);
    expect(troubles).toEqual(['external_auth:oidc: the provider answers with 503']);
  });

  test.each([
    ['no JSON', '<html>', 'application/json'],
    ['another type', '{}', 'text/html'],
    ['no description', '{}', 'application/json'],
    ['a list', '[]', 'application/json'],
  ])('a description with %s ends the log-in with the reason', async (_, body, type) => {
    const serve = (response: ServerResponse): void =>
      void response.setHeader('Content-Type', type).end(body);
    odd.oddness = { serve: { '/.well-known/openid-configuration': serve } };
    await expect(login.begin()).rejects.toThrow('does not describe itself');
    expect(troubles).toHaveLength(1);
  });
});
