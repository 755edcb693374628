import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, textOf, unpackMap } from '@brine/wire';
import { COMMAND_NAME } from '@brine/wire/load';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FunctionCall } from '../index.ts';
import { runClearCommand } from './commands.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };
const PEM = masterKey.publicKey.pem;

let made: MemoryMaster;
let calls: FunctionCall[];
let isFull = false;
beforeEach(() => {
  calls = [];
  made = memoryMaster({
    masterKey,
    userKeys: { root: 'root-key', carl: 'carl-key' },
    passwords: { anne: 'a', jobs: 'j', keys: 'k' },
    isFull: () => isFull,
    runRunner: async (call) => {
      calls.push(call);
      return { value: 'done', success: true };
    },
    rules: {
      rotateAesKey: true,
      access: {
        externalAuth: {
          file: { anne: ['@runner', '@wheel'], jobs: ['.*', '@jobs'], keys: [KEY_RIGHTS] },
        },
        publisherAcl: { carl: ['.*'] },
        sudoAcl: false,
        permissiveAcl: false,
        keepAclInToken: false,
        tokenExpire: 100,
        tokenExpireUserOverride: false,
        hashType: 'sha256',
      },
    },
  });
  isFull = false;
  made.setKey('web1', { state: 'accepted', pub: PEM, denied: [] });
  made.setKey('new1', { state: 'pending', pub: PEM, denied: [] });
  made.setKey('bad1', { state: 'rejected', pub: PEM, denied: [PEM] });
  made.setKey('gone', { state: 'deleted', pub: '', denied: [] });
});
const KEY_RIGHTS = { '@wheel': ['key.list_all'] };
const ROOT = { user: 'root', key: 'root-key' };

const login = (username: string, password = username[0]) => ({ eauth: 'file', username, password });

async function send(load: Record<string, unknown>): Promise<SaltMap> {
  const { value } = await runClearCommand(made.ports, request, mapOf(load as never));
  if (!isMap(value)) throw new Error('no map');
  return value;
}

function errorOf(reply: SaltMap): string {
  const error = mapIn(reply, 'error');
  return error === undefined ? 'none' : `${textOf(error, 'name')}: ${textOf(error, 'message')}`;
}

describe('a runner over the request port', () => {
  it('is limited unless the own user of the master calls', async () => {
    for (const who of [login('anne'), { user: 'carl', key: 'carl-key' }, ROOT]) {
      await send({ cmd: 'runner', fun: 'manage.up', kwarg: mapOf({}), ...who });
    }
    await Promise.all(made.background);
    const limited = new Map(calls.map((call) => [call.principal, call.caller]));
    expect(limited.get('anne')?.get('principal')).toBe('anne');
    expect(limited.get('root')).toBeUndefined();
    expect(calls.filter((call) => call.caller === undefined)).toHaveLength(1);
  });

  const kwarg = mapOf({ arg: ['a'], kwarg: mapOf({ b: 1, __jid__: 'x' }) });

  it('is answered with its tag; new and ret come as events under it', async () => {
    const reply = await send({ cmd: 'runner', fun: 'jobs.active', kwarg, ...login('anne') });
    const tag = textOf(reply, 'tag') ?? '';
    expect(tag).toBe(`salt/run/${textOf(reply, 'jid')}`);
    await Promise.all(made.background);
    const call = { fun: 'jobs.active', user: 'anne', args: ['a'], kwargs: mapOf({ b: 1 }) };
    expect(calls).toMatchObject([call]);
    expect(made.events.map(({ kind, tag }) => [kind, tag])).toEqual([
      ['local', `${tag}/new`],
      ['local', `${tag}/ret`],
    ]);
    const data = unpackMap(made.events[1]!.body);
    expect([...data.keys()]).toEqual(['fun', 'jid', 'user', 'fun_args', 'return', 'success']);
    expect(textOf(data, 'fun')).toBe('runner.jobs.active');
    expect(Buffer.from(made.events[0]!.body).includes('password')).toBe(false);
  });

  it('takes the arguments by name where there are no lists of them', async () => {
    const plain = mapOf({ jid: '1' });
    await send({ cmd: 'runner', fun: 'jobs.lookup_jid', kwarg: plain, ...ROOT });
    await Promise.all(made.background);
    expect(calls).toMatchObject([{ args: [], kwargs: plain, user: 'root' }]);
  });

  it('needs a right, also of a user with a local key', async () => {
    const load = { cmd: 'runner', fun: 'manage.up', kwarg };
    expect(errorOf(await send({ ...load, ...login('jobs') }))).toBe(
      'EauthAuthenticationError: Authentication failure of type "eauth" occurred for user jobs.',
    );
    expect(errorOf(await send({ ...load, ...login('anne', 'x') }))).toBe(
      'EauthAuthenticationError: Authentication failure of type "eauth" occurred for user anne.',
    );
    expect(errorOf(await send({ ...load, user: 'carl', key: 'carl-key' }))).toMatch(
      /^UserAuthenticationError/,
    );
    expect(errorOf(await send({ ...load, token: 'x' }))).toBe(
      'TokenAuthenticationError: Authentication failure of type "token" occurred.',
    );
    expect(errorOf(await send({ ...load, fun: 'manage', ...login('anne') }))).toBe(
      'SaltInvocationError: A command invocation error occurred: Check syntax.',
    );
    expect(errorOf(await send({ ...load, fun: 'jobs.active', ...login('jobs') }))).toBe('none');
    expect(errorOf(await send({ cmd: 'runner', fun: 7, ...ROOT }))).toMatch(/No runner was named/);
  });

  it('begins once for a command that names itself, however often it is sent', async () => {
    const load = { cmd: 'runner', fun: 'jobs.active', [COMMAND_NAME]: 'c1' };
    const first = await send({ ...load, ...ROOT });
    expect(await send({ ...load, ...ROOT })).toEqual(first);
    await Promise.all(made.background);
    expect(calls).toHaveLength(1);
    // The same name of another user is another command.
    expect(await send({ ...load, ...login('anne') })).not.toEqual(first);
    expect(await send({ ...load, ...ROOT, [COMMAND_NAME]: 'c2' })).not.toEqual(first);
    await Promise.all(made.background);
    expect(calls).toHaveLength(3);
  });

  it('keeps the job id that its command asked for when that is sent again', async () => {
    const jid = '20261120171037123456';
    const load = { cmd: 'runner', fun: 'jobs.active', jid, [COMMAND_NAME]: 'c1', ...ROOT };
    const first = await send(load);
    expect(textOf(first, 'jid')).toBe(jid);
    expect(await send(load)).toEqual(first);
    await Promise.all(made.background);
    expect(calls).toHaveLength(1);
  });

  it('is refused under a taken job id also when its command is sent again', async () => {
    made.ports.publications.reserve = () => Promise.resolve(false);
    const jid = '20261120171037123456';
    const load = { cmd: 'runner', fun: 'jobs.active', jid, [COMMAND_NAME]: 'c1', ...ROOT };
    for (let tries = 0; tries < 3; tries += 1) {
      expect(errorOf(await send(load))).toMatch(/it is taken$/);
    }
    expect(calls).toEqual([]);
  });

  it('is refused while so many run that no more can', async () => {
    isFull = true;
    const load = { cmd: 'runner', fun: 'manage.up', [COMMAND_NAME]: 'c1', ...ROOT };
    expect(errorOf(await send(load))).toBe('SaltRunnerError: 32 runners are running: try again');
    // It has begun nothing.
    isFull = false;
    expect(errorOf(await send(load))).toBe('none');
    await Promise.all(made.background);
    expect(calls).toHaveLength(1);
  });

  it.each([
    ['auth.mk_token', { username: 'anne', password: 'pw-secret', eauth: 'file' }],
    ['http.query', { url: 'https://a', password: 'pw-secret' }],
    ['sdb.set', { uri: 'sdb://a/b', value: 'pw-secret' }],
    ['nacl.enc', { data: 'pw-secret' }],
    ['vault.generate_token', { signature: 'pw-secret' }],
  ])('%s shows no arguments, in events and in the job cache', async (fun, secret) => {
    await send({ cmd: 'runner', fun, kwarg: mapOf(secret), ...ROOT });
    await Promise.all(made.background);
    expect(calls).toMatchObject([{ fun, kwargs: mapOf(secret) }]);
    expect(made.events.length).toBeGreaterThan(1);
    for (const { body } of made.events) expect(Buffer.from(body).includes('pw-secret')).toBe(false);
  });

  it('auth.mk_token returns into its event alone, and sealed', async () => {
    await send({ cmd: 'runner', fun: 'auth.mk_token', ...ROOT });
    await Promise.all(made.background);
    const [, ret] = made.events;
    expect(textOf(unpackMap(ret!.body), 'return')).toBe(`sealed:${ret!.tag}`);
    expect(made.events).toHaveLength(2);
  });
});

describe('a wheel over the request port', () => {
  const wheel = async (fun: string, given: Record<string, unknown> = {}, who = ROOT as object) => {
    const reply = await send({ cmd: 'wheel', fun, ...given, ...who });
    const data = mapIn(reply, 'data');
    return data === undefined ? errorOf(reply) : data.get('return');
  };

  it('answers with what the function returned, in the form of Salt', async () => {
    const reply = await send({ cmd: 'wheel', fun: 'key.list_all', ...ROOT });
    const data = mapIn(reply, 'data')!;
    expect([...data.keys()]).toEqual(['fun', 'jid', 'tag', 'user', 'return', 'success']);
    expect(data.get('return')).toEqual(
      mapOf({
        minions_pre: ['new1'],
        minions_rejected: ['bad1'],
        minions: ['web1'],
        minions_denied: ['bad1'],
        local: ['test.pem', 'test.pub'],
      }),
    );
    expect(made.events.map(({ tag }) => tag.replace(/\d{20}/, 'JID'))).toEqual([
      'salt/wheel/JID/new',
      'salt/wheel/JID/ret',
      'salt/job/JID/ret/test_master',
    ]);
    expect(made.events.at(-1)?.kind).toBe('run');
  });

  it.each(['key.gen', 'key.gen_accept'])(
    '%s shows a private key to its caller alone',
    async (fun) => {
      const pair = await wheel(fun, { id_: 'new2' });
      expect(isMap(pair) && textOf(pair, 'priv')).toContain('PRIVATE KEY');
      for (const { body } of made.events) expect(Buffer.from(body).includes('PRIVATE')).toBe(false);
      expect(made.events.some(({ body }) => Buffer.from(body).includes('sealed:'))).toBe(true);
    },
  );

  it('accepts, rejects and deletes what matches, each with its event', async () => {
    expect(await wheel('key.accept', { match: '*1' })).toEqual(
      mapOf({ minions_rejected: ['bad1'], minions: ['new1', 'web1'], minions_denied: ['bad1'] }),
    );
    expect(made.minionKeys.get('new1')?.state).toBe('accepted');
    expect(made.minionKeys.get('bad1')?.state).toBe('rejected');
    await wheel('key.reject', { match: 'web1' });
    expect(made.minionKeys.get('web1')?.state).toBe('accepted');
    await wheel('key.reject', { match: 'web1', include_accepted: true });
    expect(made.minionKeys.get('web1')?.state).toBe('rejected');
    expect(await wheel('key.delete', { match: ['new1', 'web1'] })).toEqual(mapOf({}));
    expect(made.minionKeys.get('new1')?.state).toBe('deleted');
    const acts = made.events
      .filter(({ tag }) => tag === 'salt/key')
      .map(({ body }) => [textOf(unpackMap(body), 'act'), textOf(unpackMap(body), 'id')]);
    expect(acts).toEqual([
      ['accepted', 'new1'],
      ['rejected', 'web1'],
      ['delete', 'web1'],
      ['delete', 'new1'],
    ]);
  });

  it('rotates the AES key once it deletes an accepted key, and only then', async () => {
    const before = made.ports.aes.current();
    await wheel('key.delete', { match: 'bad1' });
    expect(made.ports.aes.current()).toBe(before);
    await wheel('key.delete_dict', { match: mapOf({ minions: ['web1'] }) });
    await Promise.all(made.background);
    expect(made.ports.aes.current()).not.toBe(before);
  });

  it('accepts a denied key in place of the one before it', async () => {
    await wheel('key.accept', { match: 'bad1', include_denied: true });
    expect(made.minionKeys.get('bad1')).toMatchObject({ state: 'accepted', denied: [] });
  });

  it('shows keys and fingerprints', async () => {
    const found = (await wheel('key.key_str', { match: 'w*' })) as SaltMap;
    expect(found).toEqual(mapOf({ minions: mapOf({ web1: PEM }) }));
    const prints = (await wheel('key.finger', { match: 'w*' })) as SaltMap;
    expect(textOf(mapIn(prints, 'minions')!, 'web1')).toMatch(/^([0-9a-f]{2}:){31}[0-9a-f]{2}$/);
    const md5 = (await wheel('key.finger_master', { hash_type: 'md5' })) as SaltMap;
    expect(textOf(mapIn(md5, 'local')!, 'master.pub')).toMatch(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/);
  });

  it('refuses an argument that is given twice', async () => {
    const twice = { arg: ['web1'], kwarg: mapOf({ match: 'new1' }) };
    expect(await wheel('key.reject', twice)).toBe(
      "\nPassed invalid arguments: reject() got multiple values for argument 'match'\n\n" +
        'Usage:\n\n    Rejects pending keys.\n',
    );
    expect(made.minionKeys.get('new1')?.state).toBe('pending');
  });

  it.each([
    ['config.update_config', { file_name: 'a', yaml_contents: 'pw-secret' }],
    ['pillar_roots.write', { data: 'pw-secret', path: 'a.sls' }],
  ])('%s shows no arguments, in events and in the job cache', async (fun, given) => {
    await wheel(fun, given);
    const kept = made.events.filter(({ tag }) => /^salt\/(?:wheel|job)\//.test(tag));
    expect(kept).toHaveLength(3);
    for (const { body } of kept) expect(Buffer.from(body).includes('pw-secret')).toBe(false);
  });

  it('is one of a closed table, and needs a right', async () => {
    expect(await wheel('file_roots.remove', { path: '../x' })).toBe(
      "Exception occurred in wheel file_roots.remove: 'file_roots.remove' is not available.",
    );
    expect(await wheel('key.accept')).toMatch(/missing 1 required positional argument: 'match'/);
    expect(await wheel('key.list_all', {}, login('jobs'))).toMatch(/^EauthAuthenticationError/);
    expect(await wheel('key.accept', { match: '*' }, login('keys'))).toMatch(
      /^EauthAuthenticationError/,
    );
    expect(await wheel('key.list_all', {}, login('keys'))).toBeInstanceOf(Map);
    expect(await wheel('key.list_all', {}, { user: 'carl', key: 'carl-key' })).toMatch(
      /^UserAuthenticationError/,
    );
  });
});
