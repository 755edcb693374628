import { mapOf, pack, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { EventInbox } from './event-inbox.ts';
import { gatherReturns, type GatherSettings } from './gather.ts';

const JID = '20261120171037123456';
const FIND_JID = '20261120171042000000';
const RET = `salt/job/${JID}/ret`;

const SETTINGS: GatherSettings = {
  timeoutMs: 40,
  gatherJobTimeoutMs: 40,
  orderMasters: false,
  syndicWaitMs: 40,
  unexpected: false,
};

type Event = readonly [tag: string, data: Readonly<Record<string, SaltValue>>];

const returned = (id: string, more: Readonly<Record<string, SaltValue>> = {}): Event => [
  `${RET}/${id}`,
  { id, jid: JID, return: `of ${id}`, ...more },
];

/** The rows and lines that are shown of a job for `minions` when these events come. */
async function shown(
  minions: readonly string[],
  events: readonly Event[],
  settings: Partial<GatherSettings> = {},
) {
  const inbox = new EventInbox();
  const queue = inbox.open();
  queue.keepAll();
  queue.keepWanted(() => true);
  for (const [tag, data] of events) inbox.take(tag, pack(mapOf(data), 'bin'));
  const lines: string[] = [];
  const rows: Record<string, SaltValue> = {};
  const asked: SaltValue[] = [];
  const job = { jid: JID, minions, events: queue };
  const gathered = gatherReturns(
    job,
    async ({ tgt }) => {
      asked.push([...tgt]);
      return { jid: FIND_JID, minions: [] };
    },
    { ...SETTINGS, ...settings },
    { logError: (text) => void lines.push(text) },
  );
  for await (const item of gathered) rows[item.id] = item.kind === 'return' ? item.ret : 'silent';
  return { rows, lines, asked };
}

test('a return is shown where its tag and its data name the same targeted minion', async () => {
  const { rows } = await shown(
    ['a', 'b'],
    [
      [`${RET}/b`, { id: 'a', jid: JID, return: 'forged' }],
      [`${RET}/b`, { id: ['b'], return: 'forged' }],
      [`${RET}/b`, { return: 'forged' }],
      [`${RET}/b/x`, { id: 'b', return: 'forged' }],
      [`salt/job/${JID}/prog/b/ret`, { id: 'b', return: 'forged' }],
      [`my/${RET}/b`, { id: 'b', return: 'forged' }],
      [`${RET.toUpperCase()}/b`, { id: 'b', return: 'forged' }],
      returned('a'),
    ],
  );
  expect(rows).toEqual({ a: 'of a', b: 'silent' });
});

test('a minion that was not asked is shown with -v alone, else counted', async () => {
  const events = [returned('x'), returned('a'), returned('y', { resource_id: 'a' })];
  const strict = await shown(['a'], events);
  expect(strict).toMatchObject({ rows: { a: 'of a' } });
  expect(strict.lines).toEqual(['1 minion returned that was not asked']);
  const verbose = await shown(['a'], events, { unexpected: true });
  expect(verbose).toMatchObject({ rows: { a: 'of a', x: 'of x' }, lines: [] });
});

test('a resource goes by its minion, but no minion is a resource of another', async () => {
  const { rows } = await shown(
    ['a', 'b'],
    [
      returned('a', { resource_id: 'b' }),
      returned('a', { resource_id: 'dummy-01' }),
      returned('b'),
      returned('a'),
    ],
  );
  expect(rows).toEqual({ 'dummy-01': 'of a', b: 'of b', a: 'of a' });
});

test('no minion ends the wait with an error, nor widens it by a list', async () => {
  const words = { error: 'x', minions: ['z1'], missing: ['z2'] };
  const { rows, asked } = await shown(
    ['a', 'b'],
    [
      [`salt/job/${JID}/prog/a/1`, { id: 'a', ...words }],
      [`salt/job/${JID}/start/a`, { id: 'a', ...words }],
      [`${RET}/b`, { id: 'b', error: 'x', minions: ['z1'] }],
      [`salt/job/${JID}`, words],
      [JID, words],
      [`syndic/s/salt/job/${JID}/new`, words],
      returned('a', words),
    ],
  );
  expect(rows).toEqual({ a: 'of a', b: 'silent' });
  expect(asked).toEqual([['b']]);
});

test('an answer to find_job speaks for the minion that gives it, if it was asked', async () => {
  const answer = (tag: string, id: string, more: Record<string, SaltValue>): Event => [
    `salt/job/${FIND_JID}/ret/${tag}`,
    { id, jid: FIND_JID, return: mapOf({ jid: JID }), ...more },
  ];
  const inbox = new EventInbox();
  const queue = inbox.open();
  queue.keepAll();
  queue.keepWanted(() => true);
  const rows: string[] = [];
  const lines: string[] = [];
  const publish = async () => {
    setTimeout(() => {
      for (const [tag, data] of [
        answer('x', 'x', {}),
        answer('x', 'a', { retcode: 1 }),
        answer('a', 'x', { retcode: 1 }),
        answer('a', 'a', { retcode: 1 }),
      ]) {
        inbox.take(tag, pack(mapOf(data), 'bin'));
      }
    }, 0);
    return { jid: FIND_JID, minions: ['a', 'b'] };
  };
  const job = { jid: JID, minions: ['a', 'b'], events: queue };
  const log = { logError: (text: string) => void lines.push(text) };
  const settings = { ...SETTINGS, gatherJobTimeoutMs: 200 };
  for await (const item of gatherReturns(job, publish, settings, log)) rows.push(item.id);
  expect(rows).toEqual(['b']);
  expect(lines).toEqual(['saltutil returning errors on minion a']);
});

test('below other masters a return waits for the list that names its minion', async () => {
  const above = { orderMasters: true, syndicWaitMs: 100 };
  const list: Event = [`syndic/s/salt/job/${JID}/new`, { jid: JID, minions: ['low'] }];
  const deeper: Event = [`syndic/s/syndic/t/salt/job/${JID}/new`, { minions: ['deep'] }];
  const early = [returned('low'), returned('deep'), returned('x'), list, deeper, returned('a')];
  const { rows, lines } = await shown(['a'], early, above);
  expect(rows).toEqual({ a: 'of a', low: 'of low', deep: 'of deep' });
  expect(lines).toEqual(['1 minion returned that was not asked']);
});

test('each part of a batch gets returns of its own minions alone, those below too', async () => {
  const above = { orderMasters: true, syndicWaitMs: 10, part: new Set(['a', 'low']) };
  const list: Event = [`syndic/s/salt/job/${JID}/new`, { minions: ['low', 'other'] }];
  const { rows, lines } = await shown(
    ['a'],
    [returned('low'), returned('other'), returned('a'), list],
    above,
  );
  expect(rows).toEqual({ low: 'of low', a: 'of a' });
  expect(lines).toEqual([]);
});

test('a refusal of a master below is shown, and ends nothing', async () => {
  const refusal: Event = [`syndic/s/salt/job/${JID}/error`, { jid: JID, error: 'x' }];
  const above = { orderMasters: true, syndicWaitMs: 10 };
  const { rows, lines } = await shown(['a'], [refusal, returned('a')], above);
  expect(rows).toEqual({ a: 'of a' });
  expect(lines).toEqual(['the master below s refused the job']);
});

test('a refusal of the master itself ends the wait', async () => {
  const refusal: Event = [`salt/job/${JID}/error`, { error: 'x' }];
  await expect(shown(['a'], [refusal])).rejects.toThrow('Authorization error occurred');
});
