// mk_token and brine_oidc for users that log in at a provider elsewhere.
import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { beforeEach, expect, test } from 'vitest';
import { runClearCommand } from './clear/commands.ts';
import type { AccessRules, Vouched } from './ports/login-ports.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1', peer: '192.0.2.7' };

const ACCESS: AccessRules = {
  externalAuth: { oidc: { 'ops%': ['test.*'] }, pam: { anne: ['.*'] } },
  publisherAcl: {},
  sudoAcl: false,
  permissiveAcl: false,
  keepAclInToken: false,
  tokenExpire: 7_200,
  tokenExpireUserOverride: { oidc: ['anne'] },
  hashType: 'sha256',
};
const ANNE: Vouched = { name: 'anne', groups: ['ops'] };

let made: MemoryMaster;
/** What the provider makes of a log-in, and what it was given. */
let outcome: Vouched | 'away' | undefined;
let asked: (readonly string[])[];

function start(externalAuth = ACCESS.externalAuth): void {
  made = memoryMaster({
    masterKey,
    passwords: { anne: 'a' },
    rules: { access: { ...ACCESS, externalAuth } },
  });
  [outcome, asked] = [ANNE, []];
  Object.assign(made.ports.logins, {
    elsewhere: {
      begin: async () =>
        outcome === 'away' ? undefined : { address: 'https://sso.example/', flow: 'f' },
      finish: async (...given: string[]) => {
        asked.push(given);
        return outcome;
      },
    },
  });
}
beforeEach(() => start());

async function send(load: Readonly<Record<string, SaltValue>>): Promise<SaltValue> {
  return (await runClearCommand(made.ports, request, mapOf(load))).value;
}

const errorOf = (answer: SaltValue): SaltMap =>
  (isMap(answer) ? mapIn(answer, 'error') : undefined) ?? mapOf({});
const BACK = { cmd: 'mk_token', eauth: 'oidc', flow: 'f', callback: 'code=c' };

test('a log-in that comes back gets a token with its name and groups, and their rights', async () => {
  const token = (await send(BACK)) as SaltMap;
  expect(textOf(token, 'name')).toBe('anne');
  expect(textOf(token, 'eauth')).toBe('oidc');
  expect(listOf(token, 'groups')).toEqual(['ops']);
  expect(asked).toEqual([['f', 'code=c', request.peer]]);
  const publish = (fun: string) => {
    const kwargs = mapOf({ token: textOf(token, 'token') });
    return send({ cmd: 'publish', tgt: '*', fun, arg: [], ret: '', jid: '', kwargs });
  };
  expect(textOf(errorOf(await publish('test.ping')), 'name')).toBeUndefined();
  expect(textOf(errorOf(await publish('cmd.run')), 'name')).toBe('AuthorizationError');
});

test('a refused log-in gets what a wrong password gets', async () => {
  outcome = undefined;
  expect(await send(BACK)).toBe('');
  const password = { cmd: 'mk_token', eauth: 'pam', username: 'anne', password: 'x' };
  expect(await send(password)).toBe('');
});

test('a provider that does not answer is named, and other log-ins go on', async () => {
  outcome = 'away';
  for (const load of [BACK, { cmd: 'brine_oidc' }]) {
    expect(textOf(errorOf(await send(load)), 'name')).toBe('SaltReqTimeoutError');
  }
  const password = { cmd: 'mk_token', eauth: 'pam', username: 'anne', password: 'a' };
  expect(textOf((await send(password)) as SaltMap, 'name')).toBe('anne');
});

test('a name and a password are refused with where one logs in', async () => {
  const load = { cmd: 'mk_token', eauth: 'oidc', username: 'anne', password: 'a' };
  const error = errorOf(await send(load));
  expect(textOf(error, 'name')).toBe('EauthAuthenticationError');
  expect(textOf(error, 'message')).toContain('/login/oidc');
  expect(asked).toEqual([]);
});

test('an odd load asks no provider', async () => {
  const odd = [{ flow: 7 }, { flow: ['f'] }, { callback: 7 }, { callback: undefined }];
  for (const more of odd) {
    expect(await send({ ...BACK, ...(more as Record<string, SaltValue>) })).toBe('');
  }
  // The flow of another module is none.
  expect(await send({ ...BACK, eauth: 'pam' })).toBe('');
  expect(asked).toEqual([]);
});

test('without external_auth for it there is no such log-in', async () => {
  start({ pam: { anne: ['.*'] } });
  expect(await send(BACK)).toBe('');
  expect(textOf(errorOf(await send({ cmd: 'brine_oidc' })), 'name')).toBe('SaltInvocationError');
  expect(asked).toEqual([]);
});
