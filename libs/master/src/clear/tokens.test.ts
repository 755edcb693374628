import { createHash, randomBytes } from 'node:crypto';
import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapIn, mapOf, SaltFloat, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AccessRules, MasterRules } from '../index.ts';
import { runClearCommand } from './commands.ts';
import { callerNow } from './kept-caller.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1', peer: '192.0.2.7' };
const LIFE_S = 7_200;

const ACCESS: AccessRules = {
  externalAuth: {},
  publisherAcl: { carl: ['test.*'] },
  sudoAcl: false,
  permissiveAcl: false,
  keepAclInToken: false,
  tokenExpire: LIFE_S,
  tokenExpireUserOverride: true,
  hashType: 'sha256',
};
const ROOT = { user: 'root', key: 'root-key' };
const CARL = { user: 'carl', key: 'carl-key' };

let made: MemoryMaster;
let keys: Record<string, string>;
let nowMs: number;

function start(access: Partial<AccessRules> = {}, rules: Partial<MasterRules> = {}): void {
  keys = { root: 'root-key', carl: 'carl-key', eve: 'eve-key' };
  nowMs = Date.UTC(2026, 10, 30);
  made = memoryMaster({
    masterKey,
    userKeys: keys,
    passwords: { anne: 'a' },
    rules: { ...rules, access: { ...ACCESS, ...access } },
  });
  Object.assign(made.ports, { now: () => nowMs });
  for (const id of ['web1', 'db1']) made.setKey(id, { state: 'accepted', pub: 'key', denied: [] });
}
beforeEach(() => start());

async function send(load: Readonly<Record<string, SaltValue>>): Promise<SaltValue> {
  return (await runClearCommand(made.ports, request, mapOf(load))).value;
}

function newCode(): { readonly code: string; readonly code_hash: string } {
  const code = randomBytes(32).toString('base64url');
  return { code, code_hash: createHash('sha256').update(code).digest('hex') };
}

/** Keeps a new code; resolves with it. */
async function codeOf(who: Readonly<Record<string, SaltValue>>): Promise<string> {
  const { code, code_hash } = newCode();
  const kept = await send({ cmd: 'brine_code', code_hash, ...who });
  expect(nameOfError(kept)).toBe('none');
  return code;
}

const exchange = (code: SaltValue) => send({ cmd: 'mk_token', code });

async function tokenOf(who: Readonly<Record<string, SaltValue>>): Promise<string> {
  return textOf((await exchange(await codeOf(who))) as SaltMap, 'token') ?? '';
}

async function publish(token: string, fun: string, more: Record<string, SaltValue> = {}) {
  const kwargs = mapOf({ token });
  const load = { cmd: 'publish', tgt: 'web1', fun, arg: [], ret: '', jid: '', kwargs, ...more };
  return nameOfError(await send(load));
}

function nameOfError(answer: SaltValue): string {
  if (!isMap(answer)) return 'no map';
  const error = mapIn(answer, 'error');
  return error === undefined ? 'none' : (textOf(error, 'name') ?? 'unnamed');
}

describe('a code', () => {
  it('gives a token that ends with token_expire, whatever is asked for', async () => {
    const code = await codeOf(ROOT);
    const token = (await send({ cmd: 'mk_token', code, token_expire: 1e9 })) as SaltMap;
    const at = (name: string): number => {
      const value = token.get(name);
      return value instanceof SaltFloat ? value.value : Number(value);
    };
    expect(at('expire') - at('start')).toBe(LIFE_S);
    expect(textOf(token, 'name')).toBe('root');
    expect([...token.keys()]).toEqual(['start', 'expire', 'name', 'eauth', 'token']);
    nowMs += LIFE_S * 1_000 + 1;
    expect(await publish(textOf(token, 'token') ?? '', 'test.ping')).toBe('AuthenticationError');
  });

  it('is good once', async () => {
    const code = await codeOf(ROOT);
    expect(isMap(await exchange(code))).toBe(true);
    expect(await exchange(code)).toBe('');
    expect(made.counts.get('refused_code')).toBe(1);
  });

  it('is good for ten minutes', async () => {
    const [early, late] = [await codeOf(ROOT), await codeOf(ROOT)];
    nowMs += 599_000;
    expect(isMap(await exchange(early))).toBe(true);
    nowMs += 1_000;
    expect(await exchange(late)).toBe('');
  });

  it.each([
    ['another code', () => newCode().code],
    ['the hash that the master has', (_code: string, hash: string) => hash],
    ['a part of it', (code: string) => code.slice(1)],
    ['it with more', (code: string) => `${code}\n`],
    ['bytes', (code: string) => Buffer.from(code)],
    ['a list', (code: string) => [code]],
    ['nothing', () => null],
  ])('is not %s', async (_, wrong) => {
    const { code, code_hash } = newCode();
    await send({ cmd: 'brine_code', code_hash, ...ROOT });
    expect(await exchange(wrong(code, code_hash) as SaltValue)).toBe('');
    expect(isMap(await exchange(code))).toBe(true);
  });

  it('is not made twice, nor of a hash that is none', async () => {
    const { code, code_hash } = newCode();
    const again = () => send({ cmd: 'brine_code', code_hash, ...ROOT });
    expect(nameOfError(await again())).toBe('none');
    expect(nameOfError(await again())).toBe('SaltInvocationError');
    await exchange(code);
    expect(nameOfError(await again())).toBe('SaltInvocationError');
    for (const hash of ['', 'x', code_hash.toUpperCase(), `${code_hash}0`]) {
      const answer = await send({ cmd: 'brine_code', code_hash: hash, ...ROOT });
      expect(nameOfError(answer)).toBe('SaltInvocationError');
    }
  });

  it.each<[string, Record<string, SaltValue>]>([
    ['no key', { user: 'root' }],
    ['a wrong key', { user: 'root', key: 'x' }],
    ['the key of another', { user: 'root', key: 'carl-key' }],
    ['the key of a user without rights', { user: 'eve', key: 'eve-key' }],
    ['a name and a password', { eauth: 'file', username: 'anne', password: 'a' }],
  ])('is not made for %s', async (_, who) => {
    start({ externalAuth: { file: { anne: ['.*', '@runner', '@wheel'] } } });
    const { code, code_hash } = newCode();
    const refused = await send({ cmd: 'brine_code', code_hash, ...who });
    expect(nameOfError(refused)).toBe('UserAuthenticationError');
    expect(await exchange(code)).toBe('');
  });

  it('is not made by a session: none lives on by itself', async () => {
    const token = await tokenOf(ROOT);
    const { code, code_hash } = newCode();
    expect(nameOfError(await send({ cmd: 'brine_code', code_hash, token }))).toBe(
      'UserAuthenticationError',
    );
    expect(await exchange(code)).toBe('');
  });

  it('gives no token after its key was replaced', async () => {
    const code = await codeOf(ROOT);
    keys['root'] = 'new-key';
    expect(await exchange(code)).toBe('');
    expect(made.tokens.size).toBe(0);
  });
});

describe('its token', () => {
  it('has all rights for the key of root', async () => {
    const token = await tokenOf(ROOT);
    expect(await publish(token, 'cmd.run')).toBe('none');
    expect(made.jobs[0]).toMatchObject({ user: 'root', principal: 'root' });
    const rights = (await send({ cmd: 'brine_rights', token })) as SaltMap;
    expect([rights.get('principal'), rights.get('acl')]).toEqual(['root', null]);
  });

  it('has the rights of publisher_acl for the key of another, as they are now', async () => {
    const token = await tokenOf(CARL);
    expect(await publish(token, 'test.ping')).toBe('none');
    expect(await publish(token, 'cmd.run')).toBe('AuthorizationError');
    // Whatever user or key stands beside it.
    expect(await publish(token, 'cmd.run', { user: 'root' })).toBe('AuthorizationError');
    expect(await publish(token, 'cmd.run', { ...ROOT })).toBe('AuthorizationError');
    for (const cmd of ['runner', 'wheel']) {
      const refused = await send({ cmd, fun: 'test.arg', token });
      expect(nameOfError(refused)).toBe('TokenAuthenticationError');
    }
    expect(nameOfError(await send({ cmd: 'brine_query', query: 'list_jobs', token }))).not.toBe(
      'none',
    );
    Object.assign(made.ports.rules.access!, { publisherAcl: { carl: ['sys.*'] } });
    expect(await publish(token, 'test.ping')).toBe('AuthorizationError');
    Object.assign(made.ports.rules.access!, { publisherAcl: {} });
    expect(await publish(token, 'sys.doc')).toBe('AuthenticationError');
  });

  it('is under the blacklist by each name of its user', async () => {
    const blacklist = { users: ['^sudo_bob$'], modules: ['cmd.*'] };
    start({}, { publisherAclBlacklist: blacklist });
    const token = await tokenOf({ user: 'sudo_bob', key: 'root-key' });
    expect(await publish(token, 'test.ping')).not.toBe('none');
    expect(await publish(await tokenOf(ROOT), 'test.ping')).toBe('none');
    expect(await publish(await tokenOf(ROOT), 'cmd.run')).not.toBe('none');
  });

  it('has the rights of sudo_acl for a user by sudo', async () => {
    const sudo = { user: 'sudo_carl', key: 'root-key' };
    const token = await tokenOf(sudo);
    expect(await publish(token, 'cmd.run')).toBe('none');
    expect(made.jobs[0]).toMatchObject({ user: 'carl', principal: 'root' });
    Object.assign(made.ports.rules.access!, { sudoAcl: true });
    expect(await publish(token, 'cmd.run')).toBe('AuthorizationError');
    expect(await publish(token, 'test.ping')).toBe('none');
  });

  it('ends with its key, and with its log-out', async () => {
    const token = await tokenOf(CARL);
    keys['carl'] = 'new-key';
    expect(await publish(token, 'test.ping')).toBe('AuthenticationError');
    keys['carl'] = 'carl-key';
    expect(await publish(token, 'test.ping')).toBe('none');
    const out = { cmd: 'brine_query', query: 'del_token', token, args: mapOf({ token }) };
    expect(nameOfError(await send(out))).toBe('none');
    expect(await publish(token, 'test.ping')).toBe('AuthenticationError');
  });

  it('has no rights of external_auth, also not under its own name', async () => {
    start({ externalAuth: { 'local key': { carl: ['.*'] }, file: { carl: ['.*'] } } });
    expect(await publish(await tokenOf(CARL), 'cmd.run')).toBe('AuthorizationError');
  });

  it('gives long work the rights of its user at the time of each part', () => {
    const kept = mapOf({ kind: 'token', user: 'carl', principal: 'carl', local_user: 'carl' });
    expect(callerNow(made.ports, kept)?.acl).toHaveLength(1);
    Object.assign(made.ports.rules.access!, { publisherAcl: {} });
    expect(callerNow(made.ports, kept)).toBeUndefined();
  });
});

it('codes are on record under the user of the key, and the record has none', async () => {
  const code = await codeOf(CARL);
  await exchange(code);
  await exchange(code);
  expect(made.audited).toMatchObject([
    { kind: 'token', outcome: 'done', principal: 'carl', method: 'key' },
    { kind: 'token', outcome: 'done', principal: 'carl', method: 'code', peer: '192.0.2.7' },
    { kind: 'token', outcome: 'refused', method: 'code', peer: '192.0.2.7' },
  ]);
  expect(made.audited[2]).not.toHaveProperty('principal');
  expect(JSON.stringify(made.audited)).not.toContain(code);
});

it('a code is looked up within the limits of log-ins', async () => {
  const asked: string[] = [];
  Object.assign(made.ports.logins, {
    prove: async (proof: string, from: string) => void asked.push(`${proof} ${from}`),
  });
  expect(await exchange(await codeOf(ROOT))).toBe('');
  expect(asked).toEqual(['code 192.0.2.7']);
  expect(made.tokens.size).toBe(0);
});
