import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, type SaltMap } from '@brine/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { minionCaller } from '../aes/peers.ts';
import type { MasterRules } from '../ports/ports.ts';
import type { ClearRequest } from './caller.ts';
import { runClearCommand } from './commands.ts';
import {
  callerOf,
  type CallIdentity,
  InnerCallRefusedError,
  judgeInner,
  judgeLater,
} from './inner-calls.ts';
import { keptCaller } from './kept-caller.ts';

const { master_key: key } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const masterKey = PrivateKey.parse(key.pem);
const JID = '20261128090000000000';

const ACCESS = {
  sudoAcl: false,
  permissiveAcl: false,
  keepAclInToken: false,
  tokenExpire: 43_200,
  tokenExpireUserOverride: false,
  hashType: 'sha256',
  externalAuth: {
    file: { anne: [{ web1: ['test.*'] }, { '@runner': ['state.*', 'jobs.active'] }] },
  },
  publisherAcl: { bob: [{ web1: ['test.ping'] }, { '@wheel': ['key.list'] }] },
};

let made: MemoryMaster;

function masterWith(rules: Partial<MasterRules> = {}): MemoryMaster {
  const userKeys = { root: 'root-key' };
  const master = memoryMaster({ masterKey, userKeys, rules: { access: ACCESS, ...rules } });
  for (const id of ['web1', 'db1']) {
    master.setKey(id, { state: 'accepted', pub: masterKey.publicKey.pem, denied: [] });
  }
  return master;
}

beforeEach(() => (made = masterWith()));

const call: CallIdentity = {
  kind: 'runner',
  fun: 'state.orchestrate',
  jid: JID,
  user: 'root',
  principal: 'root',
};
const VIA = `runner.state.orchestrate ${JID}`;

const ANNE: CallIdentity = {
  ...call,
  user: 'anne',
  principal: 'anne',
  caller: keptCaller({
    kind: 'eauth',
    user: 'anne',
    principal: 'anne',
    acl: [],
    granted: { module: 'file', groups: [] },
  }),
};
const BOB: CallIdentity = {
  ...call,
  user: 'bob',
  principal: 'bob',
  caller: keptCaller({ kind: 'user', user: 'bob', principal: 'bob', acl: [] }),
};

const WAYS_IN = [
  ['a login', ANNE, { kind: 'runner', fun: 'jobs.active' }, 'eauth'],
  ['a local key', BOB, { kind: 'wheel', fun: 'key.list' }, 'key'],
] as const;
const NOTHING = { args: [], kwargs: mapOf({}) };

describe.each(WAYS_IN)('what a call by %s makes', (_way, outer, allowed, method) => {
  test('is judged by the rights of the caller, and on record under its name', () => {
    judgeInner(made.ports, outer, { ...allowed, ...NOTHING });
    const { fun, kind } = allowed;
    const row = { kind, fun, outcome: 'done', principal: outer.principal, method, via: VIA };
    expect(made.audited).toMatchObject([{ ...row, jid: JID }]);
    const other = { kind, fun: 'key.accept', ...NOTHING } as const;
    expect(() => judgeInner(made.ports, outer, other)).toThrow(InnerCallRefusedError);
    expect(made.audited[1]).toMatchObject({ ...row, fun: 'key.accept', outcome: 'refused' });
    expect(() => judgeLater(made.ports, outer, other)).toThrow(/not allowed for user (?:anne|bob)/);
    judgeLater(made.ports, outer, { ...allowed, ...NOTHING });
    expect(made.audited.map(({ outcome }) => outcome)).toEqual(['done', 'refused', 'refused']);
  });

  test('may be nothing once the rights are gone', () => {
    made = masterWith({ access: { ...ACCESS, externalAuth: { file: {} }, publisherAcl: {} } });
    expect(callerOf(made.ports, outer).acl).toEqual([]);
    expect(() => judgeInner(made.ports, outer, { ...allowed, ...NOTHING })).toThrow(/not allowed/);
  });

  test('is free in the way of Salt, under the name of the caller', () => {
    made = masterWith({ innerCalls: 'stock' });
    judgeInner(made.ports, outer, { kind: 'wheel', fun: 'key.accept', ...NOTHING });
    expect(made.audited).toMatchObject([{ outcome: 'done', principal: outer.principal, via: VIA }]);
  });
});

test('a call of root may make every other, and is on record as its cause', () => {
  judgeInner(made.ports, call, {
    kind: 'wheel',
    fun: 'key.accept',
    args: ['web2'],
    kwargs: mapOf({}),
  });
  const row = { kind: 'wheel', outcome: 'done', principal: 'root', via: VIA, target: 'web2' };
  expect(made.audited).toMatchObject([row]);
});

test('a minion may have its runners do what peer and peer_run say', () => {
  made = masterWith({ peer: { web1: ['test.*'] }, peerRun: { 'web.*': ['manage.up'] } });
  const caller = keptCaller(minionCaller(made.ports, 'minion/web1'));
  const outer = { ...call, principal: 'web1', caller };
  judgeInner(made.ports, outer, { kind: 'runner', fun: 'manage.up', ...NOTHING });
  for (const [kind, fun] of [
    ['runner', 'jobs.active'],
    ['wheel', 'manage.up'],
  ] as const) {
    expect(() => judgeInner(made.ports, outer, { kind, fun, ...NOTHING })).toThrow(/not allowed/);
  }
  expect(made.audited[0]).toMatchObject({ principal: 'web1', method: 'minion', via: VIA });
});

describe('a job that a call publishes', () => {
  const publish = async (
    outer: CallIdentity,
    more: Readonly<Record<string, string>> = {},
    isOwn = false,
  ): Promise<SaltMap> => {
    const request: ClearRequest = {
      id: `r${made.audited.length}`,
      body: new Uint8Array(0),
      gatewayHost: 'h',
      caller: callerOf(made.ports, outer, isOwn),
    };
    const load = { tgt: 'web1', tgt_type: 'glob', fun: 'test.ping', arg: [], ret: '', jid: '' };
    const asked = mapOf({ cmd: 'publish', user: 'root', key: 'any', ...load, ...more });
    return (await runClearCommand(made.ports, request, asked)).value as SaltMap;
  };

  test.each([
    ['anne', ANNE],
    ['bob', BOB],
  ])('of %s is judged, and is its own', async (name, outer) => {
    expect((await publish(outer)).has('error')).toBe(false);
    expect(made.jobs).toMatchObject([{ principal: name }]);
    expect(made.audited).toMatchObject([
      { kind: 'publish', outcome: 'done', principal: name, via: VIA },
    ]);
    expect((await publish(outer, { fun: 'cmd.run' })).has('error')).toBe(true);
    expect((await publish(outer, { tgt: '*' })).has('error')).toBe(true);
    expect(made.jobs).toHaveLength(1);
    expect(made.audited[2]).toMatchObject({ outcome: 'AuthorizationError', principal: name });
  });

  test('may not go under the job id of another', async () => {
    made = memoryMaster({
      masterKey,
      rules: { access: ACCESS },
      answerQuery: (query) => (query === 'job' ? mapOf({ principal: 'root' }) : null),
    });
    made.setKey('web1', { state: 'accepted', pub: masterKey.publicKey.pem, denied: [] });
    expect((await publish(ANNE, { jid: JID })).has('error')).toBe(true);
    expect(made.jobs).toEqual([]);
  });

  test('that the function chose itself needs no right, and is on record all the same', async () => {
    expect((await publish(ANNE, { tgt: '*', fun: 'test.ping' }, true)).has('error')).toBe(false);
    expect(made.jobs[0]?.minions).toHaveLength(2);
    expect(made.audited).toMatchObject([{ principal: 'anne', via: VIA }]);
  });

  test('hands no rights on that its load names', async () => {
    const kwargs = mapOf({ auth_list: ['.*'] });
    const request: ClearRequest = {
      id: 'r',
      body: new Uint8Array(0),
      gatewayHost: 'h',
      caller: callerOf(made.ports, ANNE),
    };
    const load = { tgt: '*', tgt_type: 'glob', fun: 'cmd.run', arg: [], ret: '', jid: '', kwargs };
    await runClearCommand(made.ports, request, mapOf({ cmd: 'publish', key: 'root-key', ...load }));
    expect(made.jobs).toEqual([]);
  });
});
