import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { MasterUnavailableError, RunIsKnownError } from '../errors.ts';
import { runClearCommand } from './commands.ts';
import { targetDigest } from './target-digest.ts';

const vectors = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(vectors.master_key.pem);
const WEBS = ['web1', 'web2'];

let made: MemoryMaster;

beforeEach(() => {
  made = memoryMaster({
    masterKey,
    userKeys: { root: 'root-key', anne: 'anne-key' },
    answerQuery: () => null,
    rules: {
      access: {
        externalAuth: {},
        publisherAcl: { anne: ['test.*'] },
        sudoAcl: false,
        permissiveAcl: false,
        keepAclInToken: false,
        tokenExpire: 100,
        tokenExpireUserOverride: false,
        hashType: 'sha256',
      },
    },
  });
  for (const id of WEBS) accept(id);
});

function accept(id: string): void {
  made.setKey(id, { state: 'accepted', pub: masterKey.publicKey.pem, denied: [] });
}

let requests = 0;

const PUBLISH = { fun: 'test.ping', arg: [], tgt: '*', tgt_type: 'glob', ret: '', jid: '' };

function publish(more: Record<string, SaltValue>, cmd = 'publish'): Promise<SaltMap> {
  return sent({ cmd, ...PUBLISH, ...more });
}

async function sent(load: Record<string, SaltValue>): Promise<SaltMap> {
  const request = { id: `r${(requests += 1)}`, body: Buffer.alloc(0), gatewayHost: 'host1' };
  const who = { user: 'root', key: 'root-key' };
  const { value } = await runClearCommand(made.ports, request, mapOf({ ...who, ...load }));
  return isMap(value) ? value : mapOf({});
}

const jidIn = (answer: SaltMap): string | undefined =>
  textOf(mapIn(answer, 'load') ?? answer, 'jid');
const errorOf = (answer: SaltMap): string | undefined =>
  textOf(mapIn(answer, 'error') ?? mapOf({}), 'name');
const named = (key: string, body = 'b') => ({ brine_repeatable: mapOf({ key, body }) });
const expecting = (count: number, digest?: string) => ({ brine_expect: mapOf({ count, digest }) });

describe('a publish that expects what was counted', () => {
  test('is made while the target means these minions', async () => {
    const seen = await publish({}, 'brine_resolve');
    expect(seen.get('count')).toBe(2);
    const digest = textOf(seen, 'digest');
    expect(digest).toBe(targetDigest(['web2', 'web1']));
    expect(jidIn(await publish(expecting(2, digest)))).toMatch(/^\d{20}$/);
    const [job] = made.jobs;
    expect(Buffer.from(job?.load ?? []).includes('brine_expect')).toBe(false);
  });

  test('is refused once another minion is meant, with the count of now', async () => {
    const digest = targetDigest(WEBS);
    accept('web3');
    const refused = await publish(expecting(2, digest));
    expect(errorOf(refused)).toBe('TargetChangedError');
    const now = [...WEBS, 'web3'];
    expect(mapIn(refused, 'error')?.get('count')).toBe(3);
    expect(mapIn(refused, 'error')?.get('digest')).toBe(targetDigest(now));
    expect(made.jobs).toEqual([]);
  });

  test('is refused where as many minions are others', async () => {
    made.setKey('web2', { state: 'rejected', pub: masterKey.publicKey.pem, denied: [] });
    accept('web3');
    expect(errorOf(await publish(expecting(2, targetDigest(WEBS))))).toBe('TargetChangedError');
    expect(made.jobs).toEqual([]);
  });

  test('is refused by what its caller may not do before anything is counted', async () => {
    const anne = { user: 'anne', key: 'anne-key', fun: 'cmd.run' };
    expect(errorOf(await publish({ ...anne, ...expecting(7) }))).toBe('AuthorizationError');
  });

  test('shows a sample', async () => {
    const seen = await publish({ sample: 1 }, 'brine_resolve');
    expect(seen.get('minions')).toEqual(['web1']);
    expect(seen.get('count')).toBe(2);
  });

  test('names ids of a list that no minion has', async () => {
    const list = { tgt: ['web1', 'no2', 'no1'], tgt_type: 'list' };
    const seen = await publish({ ...list, sample: 1 }, 'brine_resolve');
    expect([seen.get('count'), seen.get('missing')]).toEqual([1, ['no1']]);
  });
});

describe('a command that comes again', () => {
  test('is one job', async () => {
    const first = jidIn(await publish(named('k')));
    expect(first).toMatch(/^\d{20}$/);
    expect(jidIn(await publish(named('k')))).toBe(first);
    expect(made.jobs).toHaveLength(1);
    expect(Buffer.from(made.jobs[0]?.load ?? []).includes('brine_repeatable')).toBe(false);
  });

  test('is that job also where its target means others now', async () => {
    const wish = { ...named('k'), ...expecting(2) };
    const first = jidIn(await publish(wish));
    accept('web3');
    expect(jidIn(await publish(wish))).toBe(first);
    expect(made.jobs).toHaveLength(1);
  });

  test('is made again as the same job where the worker died before it was on record', async () => {
    const { commands } = made.ports;
    const failing = () => Promise.reject(new MasterUnavailableError('commands cannot be reached'));
    Object.assign(made.ports, { commands: { ...commands, done: failing } });
    expect(jidIn(await publish({ ...named('k'), ...expecting(2) }))).toBeUndefined();
    Object.assign(made.ports, { commands });
    accept('web3');
    const again = jidIn(await publish({ ...named('k'), ...expecting(2) }));
    expect(made.jobs.map(({ jid }) => jid)).toEqual([again]);
    expect(jidIn(await publish(named('k')))).toBe(again);
    expect(made.jobs).toHaveLength(1);
  });

  test('by several workers at once is one job', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => publish(named('k'))));
    expect(new Set(answers.map(jidIn)).size).toBe(1);
    expect(made.jobs).toHaveLength(1);
  });

  test('with another body is refused', async () => {
    await publish(named('k', 'one'));
    expect(errorOf(await publish(named('k', 'two')))).toBe('CommandKeyError');
    expect(made.jobs).toHaveLength(1);
  });

  test('of another user by the same key is another job', async () => {
    const first = jidIn(await publish(named('k')));
    const other = jidIn(await publish({ user: 'anne', key: 'anne-key', ...named('k') }));
    expect(other).not.toBe(first);
    expect(made.jobs).toHaveLength(2);
  });

  test.each([
    ['no map', 'k'],
    ['no key', mapOf({ body: 'b' })],
    ['a key that is too long', mapOf({ key: 'k'.repeat(257), body: 'b' })],
    ['an empty digest', mapOf({ key: 'k', body: '' })],
  ])('with %s is refused', async (_, given: SaltValue) => {
    expect(errorOf(await publish({ brine_repeatable: given }))).toBe('SaltInvocationError');
    expect(made.jobs).toEqual([]);
  });

  test('is no job where nothing is meant, and may be one later', async () => {
    const nobody = { ...named('k'), tgt: 'db*' };
    expect(jidIn(await publish(nobody))).toBeUndefined();
    accept('db1');
    expect(jidIn(await publish(nobody))).toMatch(/^\d{20}$/);
  });
});

describe('a run and a batch that come again', () => {
  const RUNNER = { cmd: 'runner', fun: 'test.arg', kwarg: mapOf({ arg: [1], kwarg: mapOf({}) }) };
  const WHEEL = {
    cmd: 'wheel',
    fun: 'key.list_all',
    arg: [1],
    kwarg: mapOf({}),
    brine_async: true,
  };
  const BATCH = { ...PUBLISH, cmd: 'brine_batch', batch: mapOf({ size: '1' }) };

  /** Sends it with a key of its own; counts what begins. */
  function counting(given: Record<string, SaltValue>) {
    const begun: string[] = [];
    const { functions } = made.ports;
    functions.begin = async (call) => {
      if (begun.includes(call.jid)) throw new RunIsKnownError('there already');
      begun.push(call.jid);
    };
    const beginBatch = functions.beginBatch.bind(functions);
    functions.beginBatch = async (order) => {
      begun.push(order.jid);
      await beginBatch(order);
    };
    return { begun, send: (more: Record<string, SaltValue>) => sent({ ...given, ...more }) };
  }

  test.each([
    ['a runner', RUNNER],
    ['a wheel', WHEEL],
    ['a batch', BATCH],
  ])('%s begins once, and its key is for it and its user alone', async (_, given) => {
    const { begun, send } = counting(given);
    const [first, again] = [await send(named('k')), await send(named('k'))];
    expect(jidIn(first)).toMatch(/^\d{20}$/);
    expect(jidIn(again)).toBe(jidIn(first));
    expect(again.get('tag')).toEqual(first.get('tag'));
    expect(begun).toEqual([jidIn(first)]);
    expect(errorOf(await send(named('k', 'another body')))).toBe('CommandKeyError');
    expect(errorOf(await send({ brine_repeatable: mapOf({ key: '' }) }))).toBe(
      'SaltInvocationError',
    );
    const other = await send({ ...named('k'), user: 'anne', key: 'anne-key' });
    expect(jidIn(other) ?? '').not.toBe(jidIn(first));
    expect(begun.length).toBe(jidIn(other) === undefined ? 1 : 2);
  });

  test('a worker that died before it recorded the begin changes nothing', async () => {
    const { begun, send } = counting(RUNNER);
    const { commands } = made.ports;
    const done = commands.done.bind(commands);
    commands.done = async () => {
      throw new MasterUnavailableError('died');
    };
    await expect(send(named('k'))).rejects.toThrow('died');
    commands.done = done;
    expect(jidIn(await send(named('k')))).toBe(begun[0]);
    expect(begun).toHaveLength(1);
  });

  test('the name of a command is no argument of a wheel', async () => {
    const { functions } = made.ports;
    let args: unknown;
    functions.begin = async (call) => void (args = [call.args, call.kwargs]);
    await sent({ ...WHEEL, ...named('k') });
    expect(args).toEqual([[1], mapOf({})]);
  });

  test('a batch expects what was counted when it began, and its publishes expect nothing', async () => {
    const { begun, send } = counting(BATCH);
    expect(errorOf(await send(expecting(3)))).toBe('TargetChangedError');
    expect(begun).toEqual([]);
    const first = await send({ ...named('k'), ...expecting(2) });
    accept('web3');
    expect(jidIn(await send({ ...named('k'), ...expecting(2) }))).toBe(jidIn(first));
    const [order] = made.batches;
    expect(order?.load.has('brine_expect')).toBe(false);
    expect(order?.load.has('brine_repeatable')).toBe(false);
  });
});
