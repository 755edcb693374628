import { isMap, mapIn, mapOf, pack, type SaltMap, type SaltValue, unpack } from '@brine/wire';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { batchSize, type BatchStep, resumeBatch, runBatch } from './batch-run.ts';
import { BatchSizeError, RefusedError } from './errors.ts';
import { LocalClient } from './local-client.ts';

const JID = '20261120171037123456';

describe('the size of a batch', () => {
  it.each([
    ['10', 3, 10],
    ['0', 3, 1],
    ['50%', 3, 1],
    ['50%', 4, 2],
    ['10%', 2, 1],
    ['100%', 7, 7],
  ])('%s of %i minions', (spec, minions, size) => {
    expect(batchSize(spec, minions)).toBe(size);
  });

  it('must be a number or a percentage', () => {
    expect(() => batchSize('abc', 3)).toThrow(new BatchSizeError('abc'));
  });
});

/** An event of a batch, or a return. */
type Said = readonly [tag: string, data: SaltMap];

const progress = (
  seq: number,
  { dispatched = [], finished = [], silent = [] }: Record<string, readonly string[]>,
): Said => [
  `salt/batch/${JID}/progress`,
  mapOf({
    brine: mapOf({
      seq,
      dispatched: [...dispatched],
      finished: [...finished],
      silent: [...silent],
    }),
  }),
];
const begin = (down: readonly string[] = []): Said => [
  `salt/batch/${JID}/new`,
  mapOf({ brine: mapOf({ seq: 0, down: [...down] }) }),
];
const end = (seq: number): Said => [`salt/batch/${JID}/complete`, mapOf({ brine: mapOf({ seq }) })];
const halt = (seq: number, reason: string): Said => [
  `salt/batch/${JID}/halted`,
  mapOf({ reason, brine: mapOf({ seq }) }),
];
const back = (id: string, retcode = 0): Said => [
  `salt/job/${JID}/ret/${id}`,
  mapOf({ id, jid: JID, return: true, retcode }),
];

interface Master {
  /** What is said when the batch is begun. */
  readonly says: readonly Said[];
  /** The answer to the order; absent: it begins. */
  readonly answer?: SaltMap;
  /** How the batch stands when it is asked. */
  readonly state?: SaltMap;
  /** What the job cache has; of several, the next one each time that it is asked. */
  readonly kept?: SaltMap | readonly (SaltMap | 'away')[];
  /** Called when the batch is begun. */
  readonly onBegin?: () => void;
  /** What is said later, one each second. */
  readonly repeated?: readonly Said[];
  /** So many questions for the batch are not answered. */
  readonly away?: number;
}

const refusal = (name: string): SaltMap => mapOf({ error: mapOf({ name, message: 'no' }) });

function clientOf(master: Master): LocalClient {
  const { says, answer, state, kept, onBegin, repeated = [], away = 0 } = master;
  let fire: (tag: string, packed: Uint8Array) => void = () => undefined;
  let unanswered = away;
  const answers: (SaltMap | 'away')[] = kept instanceof Map ? [kept] : [...(kept ?? [])];
  const replyTo = (load: SaltMap): SaltValue => {
    if (load.get('cmd') === 'brine_query') {
      const now = answers.length > 1 ? answers.shift() : answers[0];
      if (now === 'away') return refusal('SaltReqTimeoutError');
      if (now !== undefined) return mapOf({ value: mapOf({ returns: now }) });
      return refusal('UserAuthenticationError');
    }
    if (load.has('follow')) {
      unanswered -= 1;
      return unanswered >= 0 ? refusal('SaltReqTimeoutError') : mapOf({ state: state ?? null });
    }
    onBegin?.();
    setTimeout(() => {
      for (const [tag, data] of says) fire(tag, pack(data, 'bin'));
    }, 1);
    for (const [n, [tag, data]] of repeated.entries()) {
      setTimeout(() => fire(tag, pack(data, 'bin')), n * 1_000);
    }
    return answer ?? mapOf({ jid: JID });
  };
  return new LocalClient(
    {
      request: {
        request: async (body) => {
          const envelope = unpack(body);
          return pack(replyTo((isMap(envelope) && mapIn(envelope, 'load')) || mapOf({})));
        },
      },
      events: {
        listen: async (onEvent) => {
          fire = onEvent;
          return { close: () => undefined };
        },
      },
      master: { isPresent: () => true, readKey: async () => 'key' },
      logError: () => undefined,
    },
    {
      user: 'root',
      nodegroups: new Map(),
      configFile: 'master',
      timeoutMs: 1000,
      gatherJobTimeoutMs: 1000,
      orderMasters: false,
      syndicWaitMs: 0,
      sockDir: '/sock',
    },
  );
}

async function steps(master: Master, follow = runBatch): Promise<BatchStep[]> {
  const all: BatchStep[] = [];
  const command = { tgt: '*', tgtType: 'glob', fun: 'test.ping', arg: [] };
  const settings = { size: '1', waitMs: 0, failhard: false, jid: JID };
  for await (const step of follow(clientOf(master), command, settings)) all.push(step);
  return all;
}

/** As short texts. */
async function told(master: Master, follow = runBatch): Promise<string[]> {
  return (await steps(master, follow)).map((step) => {
    if (step.kind === 'start') return `start ${step.ids.join()}`;
    if (step.kind === 'halted') return `halted ${step.reason}`;
    if (step.kind === 'unseen') return `unseen ${step.count}`;
    return 'id' in step ? `${step.kind} ${step.id}` : step.kind;
  });
}

/** Runs work on a clock of its own, so that waiting costs no time. */
async function withoutWaiting<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  let isOver = false;
  const done = work().finally(() => (isOver = true));
  done.catch(() => undefined);
  while (!isOver) await vi.advanceTimersByTimeAsync(500);
  return done;
}

afterEach(() => void vi.useRealTimers());

describe('a batch that is followed', () => {
  it('shows the next minion before the return that made room', async () => {
    const says = [
      begin(['dead']),
      progress(1, { dispatched: ['a'] }),
      back('a'),
      progress(2, { dispatched: ['b'], finished: ['a'] }),
      back('b'),
      progress(3, { finished: ['b'] }),
      end(3),
    ];
    expect(await told({ says })).toEqual([
      'begun',
      'down dead',
      'start a',
      'start b',
      'return a',
      'return b',
    ]);
  });

  it('waits for a return that comes after the word that it counts', async () => {
    const says = [
      begin(),
      progress(1, { dispatched: ['a'] }),
      progress(2, { finished: ['a'] }),
      end(2),
      back('a'),
    ];
    expect(await told({ says })).toEqual(['begun', 'start a', 'return a']);
  });

  it('shows a return once, and none of a minion that does not count', async () => {
    const says = [
      begin(),
      progress(1, { dispatched: ['a'] }),
      back('a'),
      back('stranger'),
      progress(2, { finished: ['a'] }),
      progress(2, { finished: ['a'] }),
      back('a', 9),
      end(2),
    ];
    expect(await told({ says })).toEqual(['begun', 'start a', 'return a']);
  });

  it('says why it was halted, after its returns', async () => {
    const says = [
      begin(),
      progress(1, { dispatched: ['a'] }),
      back('a', 3),
      progress(2, { finished: ['a'] }),
      halt(2, 'failhard'),
    ];
    expect(await told({ says })).toEqual(['begun', 'start a', 'return a', 'halted failhard']);
  });

  it('believes no event under its tag that the master did not fire', async () => {
    const forged: Said = [`salt/batch/${JID}/complete`, mapOf({})];
    const says = [
      forged,
      begin(),
      progress(1, { dispatched: ['a'] }),
      back('a'),
      progress(2, { finished: ['a'] }),
      end(2),
    ];
    expect(await told({ says })).toEqual(['begun', 'start a', 'return a']);
  });
});

describe('events that were missed', () => {
  const says = [begin(), progress(1, { dispatched: ['a'] }), end(4)];
  const state = mapOf({ seq: 4, ended: true, halted: false, retcode: 7 });

  it('are made up for from the job cache', async () => {
    const kept = mapOf({
      a: mapOf({ return: true, retcode: 0 }),
      b: mapOf({ return: 'no', retcode: 7 }),
    });
    const all = await steps({ says, state, kept });
    expect(all.map(({ kind }) => kind)).toEqual(['begun', 'start', 'start', 'return', 'return']);
    expect(all.at(-1)).toMatchObject({ id: 'b', ret: 'no', retcode: 7, jid: JID });
  });

  it('are said to be unseen where the job cache may not be asked', async () => {
    const all = await steps({ says, state });
    expect(all.at(-1)).toMatchObject({ kind: 'unseen', retcode: 7 });
  });

  it('of a batch that the master does not know end the wait', async () => {
    await expect(steps({ says: [progress(2, {})] })).rejects.toThrow('does not know the batch');
  });
});

describe('returns that count and came unheard', () => {
  const says = [begin(), progress(1, { dispatched: ['a', 'b'] }), end(3)];
  const state = mapOf({ seq: 3, ended: true, halted: false, completed: 2 });
  const a = mapOf({ return: true, retcode: 0 });

  it('are waited for while the job cache is behind or away', async () => {
    const kept = [mapOf({ a }), 'away', mapOf({ a }), mapOf({ a, b: a })] as const;
    const shown = await withoutWaiting(() => told({ says, state, kept }));
    expect(shown).toEqual(['begun', 'start a,b', 'return a', 'return b']);
  });

  it('are counted where the job cache does not keep them', async () => {
    const shown = await withoutWaiting(() => told({ says, state, kept: mapOf({ a }) }));
    expect(shown).toEqual(['begun', 'start a,b', 'return a', 'unseen 1']);
  });
});

describe('a batch that another process may have begun', () => {
  const plan = mapOf({ active: [], silent: ['c'] });
  const ended = mapOf({ seq: 4, ended: true, halted: false, completed: 2, plan });
  const kept = mapOf({
    a: mapOf({ return: true, retcode: 0 }),
    b: mapOf({ return: 'no', retcode: 7 }),
  });

  it('is not begun again, and all of it is shown', async () => {
    const onBegin = (): never => expect.fail('it was begun');
    const shown = await told({ says: [], state: ended, kept, onBegin }, resumeBatch);
    expect(shown).toEqual(['begun', 'start a,b,c', 'return a', 'return b', 'silent c']);
  });

  it('begins where the master does not know it', async () => {
    let begun = 0;
    const says = [begin(), progress(1, { dispatched: ['a'] }), back('a'), end(1)];
    const shown = await told({ says, onBegin: () => (begun += 1) }, resumeBatch);
    expect(begun).toBe(1);
    expect(shown.slice(0, 2)).toEqual(['begun', 'start a']);
  });
});

test('a batch whose end was not heard ends though returns come again and again', async () => {
  const halted = mapOf({ seq: 2, ended: true, completed: 1, halted: true });
  const state = halted.set('halted_reason', 'failhard').set('plan', mapOf({ active: ['b'] }));
  // The same return each second: a minion that is not sure that it was heard.
  const repeated = Array.from({ length: 300 }, (): Said => back('a', 2));
  const kept = mapOf({ a: mapOf({ return: false }) });
  const { shown, ms } = await withoutWaiting(async () => {
    const startMs = Date.now();
    const shown = await told({ says: [], state, kept, repeated });
    return { shown, ms: Date.now() - startMs };
  });
  expect(shown).toEqual(['begun', 'start a,b', 'return a', 'halted failhard']);
  expect(ms).toBeLessThan(60_000);
});

test('a master that is away for a while is asked again', async () => {
  const state = mapOf({ seq: 2, ended: true, completed: 1 });
  const kept = mapOf({ a: mapOf({ return: true, retcode: 0 }) });
  const says = [begin(), progress(1, { dispatched: ['a'] })];
  const shown = await withoutWaiting(() => told({ says, state, kept, away: 5 }));
  expect(shown).toEqual(['begun', 'start a', 'return a']);
  await expect(withoutWaiting(() => told({ says, state, kept, away: 100 }))).rejects.toThrow('no');
});

test('a batch that means no minion, and one that is refused', async () => {
  expect(await told({ says: [], answer: mapOf({ matched: false }) })).toEqual(['no-match']);
  const error = mapOf({ name: 'AuthorizationError', message: 'Authorization error occurred.' });
  const refused = steps({ says: [], answer: mapOf({ error }) });
  await expect(refused).rejects.toThrow(RefusedError);
});

test('a master that does not know batches is named', async () => {
  await expect(steps({ says: [], answer: mapOf({}) })).rejects.toThrow('does not know brine_batch');
});
