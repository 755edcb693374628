import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { isMap, mapOf, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { minionPub } from './aes/peers.ts';
import { runClearCommand } from './clear/commands.ts';
import type { FunctionCall } from './ports/ports.ts';

/*
 * Rights with limits on arguments: whatever the form of a load, what runs is what was judged.
 * `ok` is what the rights allow; all else that a load holds must not take its place.
 */

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const REQUEST = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };
const LOGIN = { eauth: 'file', username: 'anne', password: 'a' };
const FUN = 'jobs.lookup_jid';

type Limits = { readonly args?: readonly string[]; readonly kwargs?: Record<string, string> };
const limits: fc.Arbitrary<Limits> = fc.constantFrom(
  { args: ['^ok$'] },
  { kwargs: { match: '^ok$' } },
  { args: ['^ok$'], kwargs: { match: '^ok$' } },
  { args: ['.*', '^ok$'] },
);

const word = fc.constantFrom<SaltValue>('ok', 'evil', 'match=ok', 'match=evil', 'other=1', null, 7);
const keywords: fc.Arbitrary<SaltMap> = fc
  .array(
    fc.tuple(
      fc.constantFrom<SaltValue>('match', 'jid', '__kwarg__', '__jid__', 'arg', 'kwarg', 3),
      fc.oneof(word, fc.constantFrom<SaltValue>(true, false, 1)),
    ),
    { maxLength: 4 },
  )
  .map((entries) => new Map(entries));
const words = fc.array(fc.oneof({ weight: 3, arbitrary: word }, keywords), { maxLength: 4 });
const anything = fc.oneof(words, keywords, word);
const fields: fc.Arbitrary<SaltMap> = fc
  .oneof(
    fc.record({ arg: anything, kwarg: anything, match: word, jid: word }, { requiredKeys: [] }),
    // Nearly right: most of the others are refused for their form.
    fc.record({
      arg: fc.array(word, { maxLength: 2 }),
      kwarg: fc.record({ match: word }, { requiredKeys: [] }).map((record) => mapOf(record)),
    }),
  )
  .map((record) => mapOf(record));

/** Whether the limits hold for what ran, said once more and simply. */
function holds({ args = [], kwargs = {} }: Limits, ran: readonly SaltValue[], named: SaltMap) {
  const fits = (pattern: string, value: SaltValue | undefined): boolean =>
    value !== undefined && (pattern === '.*' || value === 'ok');
  return (
    args.every((pattern, at) => fits(pattern, ran[at])) &&
    Object.entries(kwargs).every(([name, pattern]) => fits(pattern, named.get(name)))
  );
}

/** As a minion does: salt/minion.py load_args_and_kwargs. */
function asMinion(given: readonly SaltValue[]): { args: SaltValue[]; kwargs: SaltMap } {
  const args: SaltValue[] = [];
  const kwargs: SaltMap = new Map();
  for (const one of given) {
    if (isMap(one) && one.get('__kwarg__') === true) {
      for (const [name, value] of one) kwargs.set(name, value);
    } else if (typeof one === 'string' && one.includes('=')) {
      const [name = '', value = ''] = one.split('=');
      kwargs.set(name, value);
    } else args.push(one);
  }
  return { args, kwargs };
}

function master(rights: unknown[], calls: FunctionCall[] = [], peer: SaltValue[] = []) {
  const made: MemoryMaster = memoryMaster({
    masterKey,
    passwords: { anne: 'a' },
    runRunner: async (call) => {
      calls.push(call);
      return { value: null, success: true };
    },
    rules: {
      peer: { m1: peer },
      access: {
        externalAuth: { file: { anne: rights } },
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
  for (const id of ['ok', 'evil']) {
    made.setKey(id, { state: 'pending', pub: masterKey.publicKey.pem, denied: [] });
  }
  made.setKey('m1', { state: 'accepted', pub: masterKey.publicKey.pem, denied: [] });
  return made;
}

const NUM_RUNS = 600;
/** Loads of chance may all be refused: the first of each run is allowed, so that something runs. */
const NAMED: Limits = { kwargs: { match: '^ok$' } };
const FIRST: Limits = { args: ['^ok$'] };
const asNamed = (): SaltMap => mapOf({ arg: [], kwarg: mapOf({ match: 'ok' }) });

describe('the job that is judged is the one that runs', () => {
  test('of a runner', async () => {
    const ran = { count: 0 };
    await fc.assert(
      fc.asyncProperty(limits, fields, anything, async (limit, inner, odd) => {
        const kwarg = inner.size === 0 ? odd : inner;
        const calls: FunctionCall[] = [];
        const made = master([{ '@runner': [{ [FUN]: limit }] }], calls);
        const load = mapOf({ cmd: 'runner', fun: FUN, arg: ['ok'], match: 'ok', kwarg, ...LOGIN });
        await runClearCommand(made.ports, REQUEST, load);
        await Promise.all(made.background);
        for (const { args, kwargs } of calls) {
          ran.count += 1;
          expect(holds(limit, args, kwargs)).toBe(true);
        }
      }),
      { numRuns: NUM_RUNS, examples: [[NAMED, asNamed(), 'ok']] },
    );
    expect(ran.count).toBeGreaterThan(0);
  });

  test('of a wheel', async () => {
    const ran = { count: 0 };
    await fc.assert(
      fc.asyncProperty(limits, fields, async (limit, given) => {
        const made = master([{ '@wheel': [{ 'key.accept': limit }] }]);
        const load = new Map([...given, ...mapOf({ cmd: 'wheel', fun: 'key.accept', ...LOGIN })]);
        await runClearCommand(made.ports, REQUEST, load);
        if ((limit.args?.length ?? 0) < 2) {
          expect(made.minionKeys.get('evil')?.state).toBe('pending');
        }
        if (made.minionKeys.get('ok')?.state === 'accepted') ran.count += 1;
      }),
      { numRuns: NUM_RUNS, examples: [[NAMED, asNamed()]] },
    );
    expect(ran.count).toBeGreaterThan(0);
  });

  test('of a publish, as the minion takes its arguments', async () => {
    const ran = { count: 0 };
    await fc.assert(
      fc.asyncProperty(limits, words, async (limit, arg) => {
        const made = master([{ '*': [{ 'my.fun': limit }] }]);
        const job = { cmd: 'publish', fun: 'my.fun', arg, tgt: 'm1', ret: '', jid: '' };
        const kwargs = mapOf(LOGIN);
        await runClearCommand(made.ports, REQUEST, mapOf({ ...job, kwargs }));
        ran.count += expectJudged(made, limit);
      }),
      { numRuns: NUM_RUNS, examples: [[FIRST, ['ok']]] },
    );
    expect(ran.count).toBeGreaterThan(0);
  });

  test('of a job that a minion publishes', async () => {
    const ran = { count: 0 };
    const texts = fc.constantFrom<SaltValue>(
      '{__kwarg__: true, match: ok}',
      '{__kwarg__: true, match: evil}',
    );
    const any = fc.array(fc.oneof({ weight: 3, arbitrary: word }, keywords, texts), {
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(limits, any, async (limit, arg) => {
        const right = mapOf({ args: limit.args && [...limit.args] });
        if (limit.kwargs !== undefined) right.set('kwargs', mapOf(limit.kwargs));
        const made = master([], [], [mapOf({ '*': [mapOf({ 'my.fun': right })] })]);
        Object.assign(made.ports, { parseArguments: parsed });
        const load = mapOf({ fun: 'my.fun', arg, tgt: 'm1', tgt_type: 'glob', ret: '' });
        await minionPub(made.ports, REQUEST, 'm1', load);
        ran.count += expectJudged(made, limit);
      }),
      { numRuns: NUM_RUNS, examples: [[FIRST, ['ok']]] },
    );
    expect(ran.count).toBeGreaterThan(0);
  });
});

/** Enough of a worker's: texts of maps are maps, and keywords are gathered. */
function parsed(given: readonly SaltValue[]): SaltValue[] {
  const found = /^\{__kwarg__: true, match: (\w+)\}$/;
  const { args, kwargs } = asMinion(
    given.map((one) => {
      const match = typeof one === 'string' ? found.exec(one)?.[1] : undefined;
      return match === undefined ? one : mapOf({ __kwarg__: true, match });
    }),
  );
  return kwargs.size === 0 ? args : [...args, new Map([...kwargs, ['__kwarg__', true]])];
}

function expectJudged(made: MemoryMaster, limit: Limits): number {
  for (const { publication } of made.jobs) {
    const arg = unpackMap(publication).get('arg') as SaltValue[];
    const { args, kwargs } = asMinion(arg);
    expect(holds(limit, args, kwargs)).toBe(true);
  }
  return made.jobs.length;
}
