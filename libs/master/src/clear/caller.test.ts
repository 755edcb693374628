import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import {
  isMap,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpackMap,
} from '@brine/wire';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AccessRules, MasterRules } from '../index.ts';
import { runClearCommand } from './commands.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };
const NOW = Date.UTC(2026, 10, 22);

const ACCESS: AccessRules = {
  externalAuth: {
    file: {
      '^filename': '/nowhere',
      anne: ['test.*', { 'web*': ['state.*'] }],
      'ops%': ['.*', '@runner'],
      bob: [],
    },
  },
  publisherAcl: { carl: ['test.ping'], 'dev-.*': [{ 'web*': ['.*'] }] },
  sudoAcl: false,
  permissiveAcl: false,
  keepAclInToken: false,
  tokenExpire: 100,
  tokenExpireUserOverride: { file: ['anne'] },
  hashType: 'sha256',
};
const PASSWORDS = { anne: 'a', bob: 'b', oskar: 'o' };
const KEYS = { root: 'root-key', carl: 'carl-key', 'dev-1': 'dev-key', eve: 'eve-key' };

let made: MemoryMaster;
let nowMs = NOW;

function start(access: Partial<AccessRules> = {}, rules: Partial<MasterRules> = {}): void {
  made = memoryMaster({
    masterKey,
    userKeys: KEYS,
    passwords: PASSWORDS,
    groups: { oskar: ['ops'] },
    rules: { ...rules, access: { ...ACCESS, ...access } },
  });
  Object.assign(made.ports, { now: () => nowMs });
  for (const id of ['web1', 'web2', 'db1']) {
    made.setKey(id, { state: 'accepted', pub: 'key', denied: [] });
  }
}
beforeEach(() => {
  nowMs = NOW;
  start();
});

async function send(load: Record<string, unknown>): Promise<unknown> {
  return (await runClearCommand(made.ports, request, mapOf(load as never))).value;
}

const login = (username: string, password = PASSWORDS[username as 'anne']) =>
  mapOf({ eauth: 'file', username, password });

async function publish(who: Record<string, unknown>, fun: string | string[], tgt = 'web1') {
  const reply = await send({ cmd: 'publish', tgt, fun, arg: [], jid: '', user: 'root', ...who });
  return outcome(reply);
}

/** `ok`, or the name of the error. */
function outcome(reply: unknown): string {
  if (!isMap(reply as never)) return String(reply);
  const error = mapIn(reply as SaltMap, 'error');
  return error === undefined ? 'ok' : (textOf(error, 'name') ?? 'unnamed');
}

describe('a publish with a name and a password', () => {
  it('takes no id of a job of another user', async () => {
    const jid = '20261122101112131415';
    const under = async (owner: string | undefined): Promise<string> => {
      const job = owner === undefined ? null : mapOf({ principal: owner });
      Object.assign(made.ports.jobs, { ask: () => Promise.resolve(job) });
      return publish({ kwargs: login('anne'), jid }, 'test.ping');
    };
    expect(await under('root')).toBe('AuthorizationError');
    expect(made.jobs).toEqual([]);
    expect(made.events.map(({ tag }) => tag)).toEqual(['salt/job/error']);
    expect([await under(undefined), await under('anne')]).toEqual(['ok', 'ok']);
    expect(made.jobs[0]?.jid).toBe(jid);
    expect(await publish({ user: 'root', key: 'root-key', jid }, 'test.ping')).toBe('ok');
  });

  it('is allowed by the rights of the name and of the groups', async () => {
    expect(await publish({ kwargs: login('anne') }, 'test.ping', '*')).toBe('ok');
    expect(await publish({ kwargs: login('anne') }, 'state.apply', 'web*')).toBe('ok');
    expect(await publish({ kwargs: login('anne') }, 'state.apply', '*')).toBe('AuthorizationError');
    expect(await publish({ kwargs: login('oskar') }, 'cmd.run', '*')).toBe('ok');
    expect(await publish({ kwargs: login('bob') }, 'test.ping')).toBe('AuthorizationError');
    expect(await publish({ kwargs: login('bob') }, 'saltutil.find_job')).toBe('ok');
    expect(await publish({ kwargs: login('anne', 'x') }, 'test.ping')).toBe('AuthenticationError');
    const unknown = mapOf({ eauth: 'pam', username: 'anne', password: 'a' });
    expect(await publish({ kwargs: unknown }, 'test.ping')).toBe('AuthenticationError');
  });

  it('counts as a job of the user who logged in, and keeps no password', async () => {
    await publish({ kwargs: login('anne'), key: 'root-key' }, 'test.ping');
    const job = made.jobs[0]!;
    expect([job.user, job.principal]).toEqual(['anne', 'anne']);
    expect(textOf(unpackMap(job.publication), 'user')).toBe('anne');
    const kwargs = mapIn(unpackMap(job.load), 'kwargs');
    expect(textOf(kwargs!, 'username')).toBe('anne');
    expect(kwargs?.has('password')).toBe(false);
  });

  it('is refused with a wrong password, though a local key is beside it', async () => {
    const reply = await publish({ kwargs: login('anne', 'x'), key: 'root-key' }, 'test.ping');
    expect(reply).toBe('AuthenticationError');
    const token = mapOf({ token: '0'.repeat(64) });
    expect(await publish({ kwargs: token, key: 'root-key' }, 'test.ping')).toBe(
      'AuthenticationError',
    );
  });

  it('is refused if lower masters may have minions that this master does not see', async () => {
    start({}, { orderMasters: true });
    expect(await publish({ kwargs: login('anne') }, 'state.apply', 'far*')).toBe(
      'AuthorizationError',
    );
    expect(await publish({ kwargs: login('anne') }, 'test.ping', 'far*')).toBe('ok');
  });

  it('targets no syndic, whose id the rights have to cover all the same', async () => {
    start({}, { orderMasters: true });
    await made.ports.syndics.remember('db1');
    expect(await publish({ kwargs: login('anne') }, 'test.ping', '*')).toBe('ok');
    expect(made.jobs[0]?.minions).toEqual(['web1', 'web2']);
    expect(unpackMap(made.jobs[0]!.publication).has('to')).toBe(false);
    expect(await publish({ kwargs: login('anne') }, 'state.apply', '*')).toBe('AuthorizationError');
  });

  it('carries the rights of the user to lower masters', async () => {
    start({}, { orderMasters: true });
    await publish({ kwargs: login('anne') }, 'test.ping');
    const published = unpackMap(made.jobs[0]!.publication);
    expect(published.get('auth_list')).toEqual(['test.*', mapOf({ 'web*': ['state.*'] })]);
    const list = published.get('auth_list');
    const kwargs = mapOf({ auth_list: list });
    expect(await publish({ key: 'root-key', kwargs }, 'cmd.run')).toBe('AuthorizationError');
    expect(await publish({ key: 'root-key', kwargs }, 'test.ping')).toBe('ok');
    // A user can not grant itself rights by it.
    const own = mapOf({ auth_list: ['.*'] });
    expect(await publish({ key: 'carl-key', user: 'carl', kwargs: own }, 'cmd.run')).toBe(
      'AuthorizationError',
    );
  });
});

describe('a publish with a local key', () => {
  const by = (user: string, key: string) => ({ user, key });

  it('has the rights that publisher_acl gives to the user of the key', async () => {
    expect(await publish(by('carl', 'carl-key'), 'test.ping', '*')).toBe('ok');
    expect(await publish(by('carl', 'carl-key'), 'cmd.run')).toBe('AuthorizationError');
    expect(await publish(by('dev-1', 'dev-key'), 'cmd.run', 'web*')).toBe('ok');
    expect(await publish(by('dev-1', 'dev-key'), 'cmd.run', '*')).toBe('AuthorizationError');
    // eve has a key and no rights.
    expect(await publish(by('eve', 'eve-key'), 'test.ping')).toBe('AuthenticationError');
    expect(await publish(by('carl', 'dev-key'), 'test.ping')).toBe('AuthenticationError');
    expect(await publish(by('carl', 'root-key'), 'cmd.run')).toBe('ok');
  });

  it('a key with few rights makes no user root', async () => {
    for (const user of ['root', 'sudo_carl', 'sudo_root']) {
      expect([user, await publish(by(user, 'carl-key'), 'test.ping')]).toEqual([
        user,
        'AuthenticationError',
      ]);
    }
    const load = { cmd: 'publish', tgt: '*', fun: 'test.ping', key: 'carl-key' };
    expect(outcome(await send(load))).toBe('AuthenticationError');
  });

  it('sudo_acl limits users who came by sudo', async () => {
    expect(await publish(by('sudo_carl', 'root-key'), 'cmd.run')).toBe('ok');
    start({ sudoAcl: true });
    expect(await publish(by('sudo_carl', 'root-key'), 'cmd.run')).toBe('AuthorizationError');
    expect(await publish(by('sudo_carl', 'root-key'), 'test.ping')).toBe('ok');
    expect(await publish(by('sudo_eve', 'root-key'), 'test.ping')).toBe('AuthenticationError');
  });

  it('the blacklist refuses first, also the name behind a login', async () => {
    start({}, { publisherAclBlacklist: { users: ['carl', 'oskar'], modules: ['cmd.*'] } });
    expect(await publish(by('root', 'root-key'), 'cmd.run')).toBe('AuthorizationError');
    expect(await publish(by('sudo_carl', 'root-key'), 'test.ping')).toBe('AuthorizationError');
    expect(await publish({ kwargs: login('oskar') }, 'test.ping')).toBe('AuthorizationError');
    expect(await publish({ kwargs: login('anne') }, ['test.ping', 'cmd.run'])).toBe(
      'AuthorizationError',
    );
  });
});

describe('a token', () => {
  const make = async (who: SaltMap, more: Record<string, unknown> = {}) =>
    (await send({ cmd: 'mk_token', ...Object.fromEntries(who), ...more })) as SaltMap;

  it('is made for a name and a password, in the form of Salt', async () => {
    const token = await make(login('oskar'));
    expect([...token.keys()]).toEqual(['start', 'expire', 'name', 'eauth', 'groups', 'token']);
    expect(token.get('token')).toMatch(/^[0-9a-f]{64}$/);
    // Floats on the wire, whole or not.
    expect(pack(token).includes(Buffer.concat([Buffer.from('start'), Buffer.from([0xcb])]))).toBe(
      true,
    );
    expect(await make(login('anne', 'x'))).toBe('');
    expect(await make(mapOf({}))).toBe('');
    expect(await send({ cmd: 'get_token', token: token.get('token') })).toEqual(token);
    expect(await send({ cmd: 'get_token' })).toBe(false);
  });

  it('CVE-2020-11652: a text without the form of a token is not looked up', async () => {
    const token = textOf(await make(login('oskar')), 'token') ?? '';
    const record = made.tokens.get(token);
    for (const path of ['../../etc/passwd', 'a'.repeat(31), 'A'.repeat(64), '']) {
      made.tokens.set(path, record!);
      expect(await send({ cmd: 'get_token', token: path })).toEqual(mapOf({}));
      const kwargs = mapOf({ token: path });
      expect(await publish({ kwargs }, 'test.ping')).toBe('AuthenticationError');
    }
    expect(await send({ cmd: 'get_token', token: ['a'] })).toEqual(mapOf({}));
  });

  it('has the rights of its user until it expires, and never after', async () => {
    const token = (await make(login('anne'))).get('token');
    const kwargs = mapOf({ token });
    expect(await publish({ kwargs }, 'test.ping')).toBe('ok');
    expect(await publish({ kwargs }, 'cmd.run')).toBe('AuthorizationError');
    expect(mapIn(unpackMap(made.jobs[0]!.load), 'kwargs')?.has('token')).toBe(false);
    nowMs += 100_001;
    expect(await publish({ kwargs }, 'test.ping')).toBe('AuthenticationError');
    expect(made.tokens.size).toBe(0);
  });

  it('lives as long as its user asks for only where that user may ask', async () => {
    const life = async (who: SaltMap, token_expire: number): Promise<number> => {
      const made = await make(who, { token_expire });
      const at = (name: string): number => {
        const value = made.get(name) as number | { readonly value: number };
        return typeof value === 'number' ? value : value.value;
      };
      return at('expire') - at('start');
    };
    expect(await life(login('anne'), 7)).toBe(7);
    expect(await life(login('oskar'), 7)).toBe(100);
    expect(await life(login('anne'), -1)).toBe(100);
    start({ tokenExpireUserOverride: true });
    expect(await life(login('oskar'), 1e12)).toBe(365 * 86_400);
  });

  it('ends with the rights of its login module, unless an option keeps them', async () => {
    const token = (await make(login('anne'))).get('token');
    const change = { externalAuth: { file: { anne: ['sys.*'] } }, keepAclInToken: false };
    Object.assign(made.ports.rules.access!, change);
    expect(await publish({ kwargs: mapOf({ token }) }, 'test.ping')).toBe('AuthorizationError');
    Object.assign(made.ports.rules.access!, { externalAuth: {} });
    expect(await publish({ kwargs: mapOf({ token }) }, 'sys.doc')).toBe('AuthenticationError');

    start({ keepAclInToken: true });
    const keeping = await make(login('anne'));
    expect(keeping.get('auth_list')).toEqual(['test.*', mapOf({ 'web*': ['state.*'] })]);
    Object.assign(made.ports.rules.access!, { externalAuth: { file: { anne: ['sys.*'] } } });
    const kwargs = mapOf({ token: keeping.get('token') });
    expect(await publish({ kwargs }, 'test.ping')).toBe('ok');
    expect(await publish({ kwargs }, 'sys.doc')).toBe('AuthorizationError');
  });
});

const WRONG = { eauth: 'file', username: 'anne', password: 'wrong' };
const JOB = { fun: 'test.ping', tgt: '*', arg: [], ret: '', jid: '' };

it.each<[string, Record<string, SaltValue>]>([
  ['mk_token', WRONG],
  ['runner', { fun: 'jobs.active', ...WRONG }],
  ['wheel', { fun: 'key.list_all', ...WRONG }],
  ['brine_query', { query: 'list_jobs', ...WRONG }],
  ['brine_events', { args: mapOf({ from: 'now' }), ...WRONG }],
  ['publish', { ...JOB, kwargs: mapOf(WRONG) }],
  ['brine_batch', { ...JOB, batch: mapOf({}), kwargs: mapOf(WRONG) }],
  ['brine_resolve', { ...JOB, kwargs: mapOf(WRONG) }],
])('%s leaves its place in the queue for a login, which gets its address', async (cmd, fields) => {
  const told: string[] = [];
  const made = memoryMaster({
    masterKey,
    rules: {
      access: {
        externalAuth: { file: { anne: ['.*'] } },
        publisherAcl: {},
        sudoAcl: false,
        permissiveAcl: false,
        keepAclInToken: false,
        tokenExpire: 100,
        tokenExpireUserOverride: false,
        hashType: 'sha256',
      },
    },
  });
  Object.assign(made.ports.logins, {
    vouch: async (...asked: string[]) => void told.push(asked.join(' ')),
  });
  const request = {
    id: 'r1',
    body: Buffer.alloc(0),
    gatewayHost: 'host1',
    peer: '192.0.2.1',
    stepAside: () => void told.push('aside'),
  };
  await runClearCommand(made.ports, request, mapOf({ cmd, ...fields }));
  expect(told).toEqual(['aside', 'file anne wrong 192.0.2.1']);
  for (const act of made.audited) expect(act).toMatchObject({ peer: '192.0.2.1' });
  expect(made.audited).toHaveLength(/query|events|resolve/.test(cmd) ? 0 : 1);
});

it('a caller with a key keeps its place in the queue', async () => {
  const made = memoryMaster({ masterKey, userKeys: { root: 'k' } });
  const stepAside = (): never => {
    throw new Error('stepped aside');
  };
  const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1', stepAside };
  const load = mapOf({ cmd: 'wheel', fun: 'key.list_all', user: 'root', key: 'k' });
  const { value } = await runClearCommand(made.ports, request, load);
  expect((value as Map<SaltValue, SaltValue>).has('data')).toBe(true);
});
