import { isMap, mapIn, mapOf, pack, type SaltMap, type SaltValue, unpack } from '@brine/wire';
import { describe, expect, it, test } from 'vitest';
import { batchSize, type BatchStep, runBatch } from './batch-run.ts';
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
      ...{ seq, dispatched: [...dispatched], finished: [...finished], silent: [...silent] },
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
  /** What the job cache has. */
  readonly kept?: SaltMap;
}

function clientOf({ says, answer, state, kept }: Master): LocalClient {
  let fire: (tag: string, packed: Uint8Array) => void = () => undefined;
  const replyTo = (load: SaltMap): SaltValue => {
    if (load.get('cmd') === 'brine_query') {
      if (kept !== undefined) return mapOf({ value: mapOf({ returns: kept }) });
      return mapOf({ error: mapOf({ name: 'UserAuthenticationError', message: 'no' }) });
    }
    if (load.has('follow')) return mapOf({ state: state ?? null });
    setTimeout(() => {
      for (const [tag, data] of says) fire(tag, pack(data, 'bin'));
    }, 1);
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

async function steps(master: Master): Promise<BatchStep[]> {
  const all: BatchStep[] = [];
  const command = { tgt: '*', tgtType: 'glob', fun: 'test.ping', arg: [] };
  const settings = { size: '1', waitMs: 0, failhard: false, jid: JID };
  for await (const step of runBatch(clientOf(master), command, settings)) all.push(step);
  return all;
}

/** As short texts. */
async function told(master: Master): Promise<string[]> {
  return (await steps(master)).map((step) => {
    if (step.kind === 'start') return `start ${step.ids.join()}`;
    if (step.kind === 'halted') return `halted ${step.reason}`;
    return 'id' in step ? `${step.kind} ${step.id}` : step.kind;
  });
}

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

test('a batch that means no minion, and one that is refused', async () => {
  expect(await told({ says: [], answer: mapOf({ matched: false }) })).toEqual(['no-match']);
  const error = mapOf({ name: 'AuthorizationError', message: 'Authorization error occurred.' });
  const refused = steps({ says: [], answer: mapOf({ error }) });
  await expect(refused).rejects.toThrow(RefusedError);
});

test('a master that does not know batches is named', async () => {
  await expect(steps({ says: [], answer: mapOf({}) })).rejects.toThrow('does not know brine_batch');
});
