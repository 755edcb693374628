import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf, unpackMap } from '@brine/wire';
import { beforeEach, describe, expect, it } from 'vitest';
import { minionRunner } from './aes/peer-runner.ts';
import { minionPub } from './aes/peers.ts';
import { revokeAuth } from './aes/revoke-auth.ts';
import { answerAuth } from './clear/auth.ts';
import { runClearCommand } from './clear/commands.ts';

interface Vectors {
  readonly master_key: { readonly pem: string };
  readonly cases: readonly { readonly state: string; readonly request: string }[];
}
const vectors = vectorFile<Vectors>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);
const PEM = masterKey.publicKey.pem;
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };

const ROOT = { user: 'root', key: 'root-key' };
const LOGIN = { eauth: 'file', username: 'anne', password: 'hunter2' };
const eauth = (username: string, password: string) => ({ eauth: 'file', username, password });

let made: MemoryMaster;
beforeEach(() => {
  made = memoryMaster({
    masterKey,
    userKeys: { root: 'root-key' },
    passwords: { anne: 'hunter2', bert: 'b' },
    answerQuery: () => mapOf({}),
    rules: {
      peer: { web1: ['test.ping'] },
      access: {
        externalAuth: { file: { anne: ['.*', '@runner', '@wheel'], bert: ['test.ping'] } },
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
  made.setKey('web1', { state: 'accepted', pub: PEM, denied: [] });
  made.setKey('new1', { state: 'pending', pub: PEM, denied: [] });
});

async function send(load: Record<string, unknown>): Promise<SaltValue> {
  return (await runClearCommand(made.ports, request, mapOf(load as never))).value;
}
const job = { cmd: 'publish', fun: 'test.ping', arg: [], tgt: 'web1', tgt_type: 'glob', ret: '' };

describe('clear commands', () => {
  it.each([
    ['a publish', { ...job, ...ROOT }, { kind: 'publish', outcome: 'done', principal: 'root' }],
    [
      'a publish with a wrong key',
      { ...job, user: 'root', key: 'x' },
      { kind: 'publish', outcome: 'AuthenticationError', method: 'key', claimed: 'root' },
    ],
    [
      'a publish by a login, of what it may not',
      { ...job, fun: 'cmd.run', kwargs: mapOf(eauth('bert', 'b')) },
      { kind: 'publish', outcome: 'AuthorizationError', principal: 'bert', method: 'eauth' },
    ],
    [
      'a runner',
      { cmd: 'runner', fun: 'jobs.active', kwarg: mapOf({}), ...eauth('anne', 'hunter2') },
      { kind: 'runner', outcome: 'done', principal: 'anne', fun: 'jobs.active' },
    ],
    [
      'a refused runner',
      { cmd: 'runner', fun: 'jobs.active', kwarg: mapOf({}), ...eauth('bert', 'b') },
      { kind: 'runner', outcome: 'EauthAuthenticationError', principal: 'bert' },
    ],
    [
      'a wheel',
      { cmd: 'wheel', fun: 'key.list', match: 'acc', ...ROOT },
      { kind: 'wheel', outcome: 'done', target: 'acc', fun: 'key.list' },
    ],
    [
      'a wheel that is to write a file',
      { cmd: 'wheel', fun: 'file_roots.write', data: 'x', path: 'a.sls', ...ROOT },
      { kind: 'wheel', target: 'a.sls', fun: 'file_roots.write' },
    ],
    [
      'a login for a token',
      { cmd: 'mk_token', ...eauth('anne', 'hunter2') },
      { kind: 'token', outcome: 'done', principal: 'anne', method: 'eauth' },
    ],
    [
      'a refused login for a token',
      { cmd: 'mk_token', ...eauth('anne', 'wrong') },
      { kind: 'token', outcome: 'refused', claimed: 'anne' },
    ],
    [
      'a token that is taken back',
      { cmd: 'brine_query', query: 'del_token', args: mapOf({ token: 'ab' }), ...ROOT },
      { kind: 'token', fun: 'del_token', outcome: 'done' },
    ],
  ])('%s is one row, without secrets', async (_what, load, row) => {
    await send(load);
    expect(made.audited).toMatchObject([{ ...row, source: 'host1' }]);
    expect(JSON.stringify(made.audited)).not.toMatch(/hunter2|root-key|wrong/);
  });

  it('a key act is a row for each key beside that of the wheel, with its principal', async () => {
    await send({ cmd: 'wheel', fun: 'key.accept', match: 'new*', ...eauth('anne', 'hunter2') });
    expect(made.audited).toMatchObject([
      { kind: 'key', outcome: 'pending to accepted', principal: 'anne', target: 'new1' },
      { kind: 'wheel', outcome: 'done', principal: 'anne', target: 'new*' },
    ]);
  });

  it('different arguments have different digests, and credentials are not in them', async () => {
    const wheel = { cmd: 'wheel', fun: 'key.finger' };
    await send({ ...wheel, match: 'web1', ...ROOT });
    await send({ ...wheel, match: 'web1', ...eauth('anne', 'hunter2') });
    await send({ ...wheel, match: 'new1', ...ROOT });
    const [one, other, third] = made.audited.map(({ argsHash }) => argsHash);
    expect(other).toBe(one);
    expect(third).not.toBe(one);
  });

  it('a field that the master does not read hides no arguments', async () => {
    const run = { cmd: 'runner', fun: 'jobs.active', args: mapOf({ a: 1 }), ...ROOT };
    await send({ ...run, arg: ['one'] });
    await send({ ...run, arg: ['other'] });
    const [one, other] = made.audited.map(({ argsHash }) => argsHash);
    expect(other).not.toBe(one);
  });

  it('queries about the quarantine with different arguments have different digests', async () => {
    const drop = { cmd: 'brine_query', query: 'quarantine_drop', ...ROOT };
    await send({ ...drop, args: mapOf({ ids: [1] }) });
    await send({ ...drop, args: mapOf({ ids: [2] }) });
    const [one, other] = made.audited.map(({ argsHash }) => argsHash);
    expect(other).not.toBe(one);
  });

  it.each([
    [
      'another user by the key of root',
      { ...job, user: 'oscar', key: 'root-key' },
      'root',
      'oscar',
    ],
    ['a user by sudo', { ...job, user: 'sudo_anne', key: 'root-key' }, 'root', 'sudo_anne'],
    ['no user, with a key', { ...job, key: 'root-key' }, 'root', undefined],
    ['root beside a login', { ...job, user: 'root', kwargs: mapOf(eauth('bert', 'b')) }, 'bert'],
    [
      'root, at the wheel',
      { cmd: 'wheel', fun: 'key.list', match: 'acc', ...LOGIN, user: 'root' },
      'anne',
    ],
  ])('the principal on record is the proven user: %s', async (_what, load, principal, claimed?) => {
    await send(load);
    const [row] = made.audited;
    expect([row?.outcome, row?.principal]).toEqual(['done', principal]);
    if (claimed !== undefined) expect(row).toMatchObject({ claimed });
    expect(made.jobs.every((published) => published.principal === principal)).toBe(true);
  });

  it('a token counts as its owner, whichever user the caller names', async () => {
    const token = textOf((await send({ cmd: 'mk_token', ...LOGIN })) as SaltMap, 'token') ?? '';
    await send({ cmd: 'runner', fun: 'jobs.active', kwarg: mapOf({}), token, username: 'bert' });
    await send({ ...job, user: 'root', kwargs: mapOf({ token }) });
    expect(made.audited.slice(1)).toMatchObject([
      { kind: 'runner', principal: 'anne', claimed: 'bert', method: 'token' },
      { kind: 'publish', principal: 'anne', claimed: 'root', method: 'token' },
    ]);
  });

  it.each([
    ['a wrong key', { ...job, user: 'root', key: 'x' }],
    ['a wrong password', { ...job, kwargs: mapOf(eauth('root', 'x')) }],
    ['a token that is none', { ...job, user: 'root', kwargs: mapOf({ token: 'ab'.repeat(32) }) }],
    ['a publish of another form', { ...job, fun: 1, user: 'root' }],
    ['a runner', { cmd: 'runner', fun: 'jobs.active', user: 'root', kwarg: mapOf({}) }],
    ['a wheel', { cmd: 'wheel', fun: 'key.list', match: 'acc', username: 'root' }],
    ['a login for a token', { cmd: 'mk_token', ...eauth('root', 'x') }],
    ['an import', { cmd: 'brine_query', query: 'import', user: 'root' }],
  ])('%s of a stranger names no proven user, and has an allowance', async (_what, load) => {
    await send(load);
    expect(made.audited).toHaveLength(1);
    expect(made.audited[0]).not.toHaveProperty('principal');
    expect(made.audited[0]).toMatchObject({ claimed: 'root' });
    expect(made.unlimited).toEqual([]);
  });

  it('questions leave no row', async () => {
    await send({ cmd: 'ping' });
    await send({ cmd: 'get_token', token: 'x' });
    await send({ cmd: 'brine_query', query: 'list_jobs', args: mapOf({}), ...ROOT });
    expect(made.audited).toEqual([]);
  });
});

describe('minions', () => {
  const accepted = vectors.cases.find(({ state }) => state.startsWith('accepted'))!;
  const load = mapIn(unpackMap(Buffer.from(accepted.request, 'base64')), 'load') as SaltMap;
  const id = textOf(load, 'id') ?? '';
  const signIn = (more: Record<string, SaltValue> = {}): Promise<unknown> =>
    answerAuth(made.ports, request, new Map([...load, ...Object.entries(more)]), 3);

  it('each log-in is a row: waiting, let in for the first time and again, refused', async () => {
    await signIn();
    Object.assign(made.ports, { rules: { ...made.ports.rules, autoAccept: true } });
    made.minionKeys.delete(id);
    await signIn();
    await signIn();
    await signIn({ pub: PEM });
    await signIn({ id: '../up' });
    await signIn({ enc_algo: 'none' });
    expect(made.audited.map(({ kind, outcome }) => `${kind}: ${outcome}`)).toEqual([
      'login: pend',
      'login: first accept',
      'login: accept',
      'login: denied',
      'login: no minion id',
      'login: bad enc algo',
    ]);
    const [first] = made.audited;
    expect(first).toMatchObject({ claimed: id, method: 'key', proof: 'unproven', source: 'host1' });
    expect(made.audited.filter(({ principal }) => principal !== undefined)).toEqual([]);
    expect(made.unlimited).toEqual([]);
  });

  it('what they publish or run is a row, also if it is refused', async () => {
    const asked = (fun: string) => mapOf({ fun, arg: [], tgt: 'web*', ret: '' });
    await minionPub(made.ports, request, 'web1', asked('test.ping'));
    await minionPub(made.ports, request, 'web1', asked('cmd.run'));
    await minionRunner(made.ports, request, 'web1', asked('jobs.active'));
    expect(made.audited).toMatchObject([
      { kind: 'publish', outcome: 'done', principal: 'web1', method: 'minion', minions: 1 },
      { kind: 'publish', outcome: 'refused', principal: 'web1', fun: 'cmd.run' },
      { kind: 'runner', outcome: 'refused', principal: 'web1', fun: 'jobs.active' },
    ]);
  });

  it('one that revokes its own key leaves a row', async () => {
    await revokeAuth(made.ports, 'web1', mapOf({ id: 'web1' }));
    expect(made.audited).toMatchObject([{ kind: 'key', outcome: 'revoked', target: 'web1' }]);
  });
});
