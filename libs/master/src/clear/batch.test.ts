import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { beforeEach, describe, expect, it, test } from 'vitest';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterRules } from '../ports/ports.ts';
import { runClearCommand } from './commands.ts';
import { callerNow } from './kept-caller.ts';
import { publishFor } from './publish.ts';

const vectors = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };
const JID = '20261126120000123456';
const ROOT = { user: 'root', key: 'root-key' };
const ANNE = { user: 'anne', key: 'anne-key' };
const OLD: NonNullable<MasterRules['access']> = {
  externalAuth: { file: { bert: ['test.*', { 'web*': ['state.apply'] }] } },
  publisherAcl: { anne: ['test.*'] },
  sudoAcl: false,
  permissiveAcl: false,
  keepAclInToken: false,
  tokenExpire: 100,
  tokenExpireUserOverride: false,
  hashType: 'sha256',
};

let made: MemoryMaster;

function master(access = OLD): MemoryMaster {
  const it = memoryMaster({
    masterKey,
    userKeys: { root: 'root-key', anne: 'anne-key' },
    passwords: { bert: 'b' },
    answerQuery: () => null,
    rules: { access },
  });
  const pub = masterKey.publicKey.pem;
  for (const id of ['web1', 'web2', 'db1']) it.setKey(id, { state: 'accepted', pub, denied: [] });
  return it;
}

beforeEach(() => {
  made = master();
});

const load = (more: Record<string, SaltValue>) =>
  mapOf({
    cmd: 'brine_batch',
    fun: 'test.ping',
    arg: [],
    tgt: '*',
    tgt_type: 'glob',
    ret: '',
    jid: JID,
    batch: mapOf({ size: '1' }),
    ...more,
  });

async function send(more: Record<string, SaltValue>): Promise<SaltMap> {
  const { value } = await runClearCommand(made.ports, request, load(more));
  return isMap(value) ? value : mapOf({});
}

const errorOf = (answer: SaltMap): string | undefined => {
  const error = mapIn(answer, 'error');
  return error && textOf(error, 'name');
};

describe('a batch', () => {
  it('begins for a caller that may publish it, and keeps none of its secrets', async () => {
    const kwargs = mapOf({ eauth: 'file', username: 'bert', password: 'b', token: undefined });
    expect(await send({ kwargs })).toEqual(mapOf({ jid: JID }));
    const [order] = made.batches;
    expect(order).toMatchObject({ jid: JID, principal: 'bert', host: 'host1' });
    const kept = order && [order.load, mapIn(order.load, 'kwargs') ?? mapOf({}), order.caller];
    for (const map of kept ?? []) {
      for (const name of ['key', 'password', 'token']) expect(map.has(name)).toBe(false);
    }
  });

  it('sent twice begins once', async () => {
    await send(ROOT);
    expect(await send(ROOT)).toEqual(mapOf({ jid: JID }));
    expect(made.batches).toHaveLength(1);
  });

  it('sent twice at the same time begins once', async () => {
    const { functions } = made.ports;
    const first = functions.beginBatch.bind(functions);
    functions.beginBatch = async (order) => {
      // The other sending was first.
      await first(order);
      throw new Error('a run with the job id is there already');
    };
    expect(await send(ROOT)).toEqual(mapOf({ jid: JID }));
    expect(made.batches).toHaveLength(1);
  });

  it('can not be looked up while its records are away, and the answer says so', async () => {
    made.ports.functions.batch = () => Promise.reject(new MasterUnavailableError('no bucket'));
    expect(errorOf(await send({ ...ROOT, follow: JID }))).toBe('SaltReqTimeoutError');
  });

  it('of another command that chose the same jid is refused, not taken for the first', async () => {
    await send(ROOT);
    expect(errorOf(await send({ ...ROOT, tgt: 'web1' }))).toBe('SaltInvocationError');
    expect(errorOf(await send({ ...ROOT, arg: ['x'] }))).toBe('SaltInvocationError');
    expect(made.batches).toHaveLength(1);
  });

  it('under the jid of the batch of another is refused', async () => {
    await send(ROOT);
    expect(errorOf(await send(ANNE))).toBe('SaltInvocationError');
  });

  it.each([
    ['a stranger', { user: 'root', key: 'x' }, 'AuthenticationError'],
    ['a user without the right', { ...ANNE, fun: 'cmd.run' }, 'AuthorizationError'],
    [
      'a user that may not run it on all that are meant',
      {
        fun: 'state.apply',
        kwargs: mapOf({ eauth: 'file', username: 'bert', password: 'b' }),
      },
      'AuthorizationError',
    ],
  ])('of %s is refused', async (_who, more, error) => {
    expect(errorOf(await send(more as Record<string, SaltValue>))).toBe(error);
    expect(made.batches).toHaveLength(0);
  });

  it('that means no minion does not begin', async () => {
    expect(await send({ ...ROOT, tgt: 'nomatch*' })).toEqual(mapOf({ matched: false }));
    expect(made.batches).toHaveLength(0);
  });

  it('shows how it stands to who began it, and to no other user', async () => {
    await send(ROOT);
    expect(mapIn(await send({ ...ROOT, follow: JID }), 'state')).toBeDefined();
    expect(errorOf(await send({ ...ANNE, follow: JID }))).toBe('UserAuthenticationError');
    expect(await send({ ...ROOT, follow: '20261126120000999999' })).toEqual(mapOf({ state: null }));
  });
});

describe('the rights of a batch later on', () => {
  const part = mapOf({
    fun: 'test.ping',
    arg: [],
    tgt: ['web1'],
    tgt_type: 'list',
    ret: '',
    jid: JID,
    user: 'anne',
  });

  it('are those that its caller has now', async () => {
    await send(ANNE);
    const kept = made.batches[0]?.caller ?? mapOf({});
    const { value: before } = await publishFor(
      made.ports,
      request,
      part,
      callerNow(made.ports, kept),
    );
    expect(textOf(mapIn(before, 'load') ?? mapOf({}), 'jid')).toBe(JID);
    const later = master({ ...OLD, publisherAcl: {} });
    expect(callerNow(later.ports, kept)).toBeUndefined();
    const { value: after } = await publishFor(
      later.ports,
      request,
      part,
      callerNow(later.ports, kept),
    );
    expect(errorOf(after)).toBe('AuthorizationError');
    expect(later.jobs).toHaveLength(0);
  });

  it('do not grow with the name of another user in the load', async () => {
    await send({ kwargs: mapOf({ eauth: 'file', username: 'bert', password: 'b' }) });
    const kept = made.batches[0]?.caller ?? mapOf({});
    const more = new Map([...part, ['user', 'root'], ['fun', 'cmd.run']] as const) as SaltMap;
    const { value: answer } = await publishFor(
      made.ports,
      request,
      more,
      callerNow(made.ports, kept),
    );
    expect(errorOf(answer)).toBe('AuthorizationError');
  });
});

test('a target is resolved as a publish would be, within the rights of its caller', async () => {
  const resolve = (more: Record<string, SaltValue>) => send({ cmd: 'brine_resolve', ...more });
  const found = await resolve({ ...ROOT, tgt: 'web*' });
  expect(found.get('minions')).toEqual(['web1', 'web2']);
  expect(errorOf(await resolve({ ...ANNE, fun: 'cmd.run' }))).toBe('AuthorizationError');
});
