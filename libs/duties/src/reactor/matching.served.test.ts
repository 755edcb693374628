import { readerLags } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { PublicationWriter } from '@brine/bus/jobs';
import { type NewReaction, type Reaction, ReactionQueue } from '@brine/bus/reactions';
import type { Event, Job } from '@brine/job';
import { ReactorMap } from '@brine/reactor';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack, type SaltMap, unpackMap } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Matching, type MatchOutcome, type Wanted } from './matching.ts';

const JID = '20261126120000123456';

let nats: TestNats;
const open: Matching[] = [];

beforeEach(async () => {
  nats = await startNats();
});
afterEach(async () => {
  for (const matching of open.splice(0)) await matching.close();
  await nats.close();
});

function wantedOf(globs: readonly string[], isLeader = true): Wanted {
  return { map: new ReactorMap(globs.map((glob) => mapOf({ [glob]: ['/x.sls'] }))), isLeader };
}

/** A process that matches, and what it puts into the queue. */
async function worker(wanted: Wanted, maxEventSize = 1_048_576) {
  const bus = await nats.connect('runner-pool');
  const added: NewReaction[] = [];
  const outcomes: MatchOutcome[] = [];
  const managed: string[] = [];
  const troubles: string[] = [];
  const queue = new ReactionQueue(bus);
  const state = { away: false, full: false, overShare: '', tries: 0 };
  const matching = new Matching(
    {
      bus,
      queue: {
        add: async (reaction) => {
          state.tries += 1;
          if (state.away) throw Object.assign(new Error('away'), { retryable: true });
          if (state.full) return 'full';
          if (reaction.source !== undefined && reaction.source === state.overShare) {
            return 'over share';
          }
          const queued = await queue.add(reaction);
          if (queued === 'added') added.push(reaction);
          return queued;
        },
      },
      maxEventSize,
      manage: async ({ tag }) => {
        managed.push(tag);
        return true;
      },
      count: (outcome) => void outcomes.push(outcome),
      onTrouble: (text) => void troubles.push(text),
      onRelief: (text) => void troubles.push(text),
    },
    wanted,
  );
  open.push(matching);
  await matching.want(wanted);
  await until('events are read', () => matching.reading);
  return { bus, matching, added, outcomes, managed, troubles, state };
}

/** Fires an event as a service does. */
async function fire(tag: string, data: SaltMap, more: Partial<Event> = {}): Promise<void> {
  const bus = await nats.connect('runner-pool');
  const body = pack(data);
  const msgId = more.kind === 'ret' ? {} : { msgId: `${tag} ${Math.random()}` };
  await new EventWriter(bus).append({ kind: 'local', tag, body, ...msgId, ...more });
}

/** Events that no process has acknowledged. */
async function inHand(): Promise<number> {
  const lags = await readerLags(await nats.connect('event-bus'));
  return lags.reduce((sum, { pending, unacknowledged }) => sum + pending + unacknowledged, 0);
}

const inOrder = <T extends Reaction>(added: readonly T[]): T[] =>
  [...added].sort((a, b) => (a.name < b.name ? -1 : 1));
const tags = (added: readonly Reaction[]): string[] => added.map(({ name }) => name);

test('an event that an entry matches is in the queue once, with many workers', async () => {
  const wanted = wantedOf(['my/*']);
  const workers = [await worker(wanted), await worker(wanted), await worker(wanted)];
  for (let n = 0; n < 60; n += 1) await fire(`my/${n}`, mapOf({ n }));
  await fire('other/1', mapOf({}));
  const all = (): Reaction[] => workers.flatMap(({ added }) => added);
  await until('all are matched', () => all().length >= 60);
  // What is acknowledged is delivered to no other process.
  await until('no event is in hand', async () => (await inHand()) === 0);
  expect(new Set(tags(all())).size).toBe(60);
  expect(all()).toHaveLength(60);
  const [one] = all().filter(({ name }) => name === 'my/7');
  expect(one?.id).toMatch(/^event\/EVENTS\/\d+\.0$/);
  expect(unpackMap(one?.body ?? pack(mapOf({})))).toEqual(mapOf({ n: 7 }));
  expect(Math.abs((one?.timeMs ?? 0) - Date.now())).toBeLessThan(60_000);
});

test('a source that has its share waiting is left out, counted, and named once', async () => {
  const wanted = wantedOf(['my/*', 'salt/auth', 'salt/netapi/*']);
  const { added, outcomes, state, troubles } = await worker(wanted);
  state.overShare = 'minion a';
  for (const n of [1, 2]) await fire(`my/a${n}`, mapOf({}), { kind: 'minion', minion: 'a' });
  await fire('my/b', mapOf({}), { kind: 'minion', minion: 'b' });
  await fire('my/c', mapOf({}), { engine: 'webhook' });
  await fire('my/d', mapOf({}));
  await fire('salt/auth', mapOf({}), { kind: 'auth', minion: 'a' });
  await fire('salt/netapi/hook/build', mapOf({ user: 'Reactor' }), { kind: 'hook' });
  await until('all are matched', () => outcomes.length === 7);
  expect(outcomes.filter((outcome) => outcome === 'over share')).toHaveLength(2);
  expect(inOrder(added).map(({ name, source }) => [name, source])).toEqual([
    ['my/b', 'minion b'],
    ['my/c', 'engine webhook'],
    ['my/d', undefined],
    ['salt/auth', 'log-ins'],
    ['salt/netapi/hook/build', 'web hooks'],
  ]);
  expect(troubles).toEqual([expect.stringContaining('minion a has its share of the queue')]);
  await until('no event is in hand', async () => (await inHand()) <= 4);
});

test('returns are read where a glob can match them, each of a page by itself', async () => {
  const { added } = await worker(wantedOf(['salt/job/*/ret/*']));
  const bus = await nats.connect('runner-pool');
  const writer = new EventWriter(bus);
  const append = (id: string) =>
    writer.append({
      kind: 'ret',
      tag: `salt/job/${JID}/ret/${id}`,
      jid: JID,
      minion: id,
      traced: true,
      body: pack(mapOf({ id, return: true })),
    });
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map(append));
  await until('all are matched', () => added.length === 5);
  expect(new Set(added.map(({ id }) => id)).size).toBe(5);
  expect(added.every(({ link }) => link?.startsWith('00-') === true)).toBe(true);
});

test('returns are read from when on the list can match them', async () => {
  const { added, matching } = await worker(wantedOf(['my/*']));
  const ret = (id: string) =>
    fire(`salt/job/${JID}/ret/${id}`, mapOf({ id }), { kind: 'ret', jid: JID, minion: id });
  await ret('before');
  await fire('my/1', mapOf({}));
  await until('the other is matched', () => added.length === 1);
  await matching.want(wantedOf(['my/*', 'salt/job/*']));
  await until('events are read', () => matching.reading);
  await ret('after');
  await until('it is matched', () => tags(added).some((tag) => tag.endsWith('/after')));
  expect(tags(added).some((tag) => tag.endsWith('/before'))).toBe(false);
});

test('the events of a job come from the stream of jobs', async () => {
  const { added } = await worker(wantedOf(['salt/job/*/new']));
  const bus = await nats.connect('runner-pool');
  await new PublicationWriter(bus).appendJob(JOB);
  await until('it is matched', () => added.length === 1);
  expect(added[0]).toMatchObject({
    name: `salt/job/${JID}/new`,
    id: expect.stringMatching(/^event\/PUBLICATIONS\/\d+\.0$/),
  });
  const data = unpackMap(added[0]?.body ?? pack(mapOf({})));
  expect(data.get('fun')).toBe('test.ping');
  expect(data.get('minions')).toEqual(['one']);
});

test('words of the reactor in what a minion sends hide nothing', async () => {
  const { added, managed } = await worker(wantedOf(['*']));
  const by = { kind: 'minion', minion: 'one' } as const;
  await fire('my/1', mapOf({ user: 'Reactor' }), by);
  await fire('my/salt/reactors/manage/list', mapOf({}), by);
  await until('both are matched', () => added.length === 2);
  expect(managed).toEqual([]);
});

describe('no reaction is made', () => {
  test('to events of runs that a reaction began', async () => {
    const { added, outcomes } = await worker(wantedOf(['salt/run/*']));
    await fire(`salt/run/${JID}/new`, mapOf({ user: 'Reactor' }));
    await fire(`salt/run/${JID}/ret`, mapOf({ user: 'root' }));
    await until('the other is matched', () => added.length === 1);
    expect(tags(added)).toEqual([`salt/run/${JID}/ret`]);
    expect(outcomes).toContain('own');
  });

  test('where this cluster is not the leader', async () => {
    const { added, outcomes, matching } = await worker(wantedOf(['my/*'], false));
    await fire('my/1', mapOf({}));
    await until('it was matched', () => outcomes.includes('not leader'));
    await matching.want(wantedOf(['my/*']));
    await fire('my/2', mapOf({}));
    await until('the next one is in the queue', () => added.length === 1);
    expect(tags(added)).toEqual(['my/2']);
  });

  test('to what manages the reactor', async () => {
    const { added, managed } = await worker(wantedOf(['*']));
    await fire(`salt/run/${JID}/salt/reactors/manage/list`, mapOf({}));
    await until('it is handed over', () => managed.length === 1);
    await fire('my/after', mapOf({}));
    await until('the next one is in the queue', () => added.length > 0);
    expect(tags(added)).toEqual(['my/after']);
  });
});

test('an event waits in its stream while the queue is away', async () => {
  const { added, state } = await worker(wantedOf(['my/*']));
  state.away = true;
  await fire('my/1', mapOf({}));
  await until('the queue is tried again', () => state.tries > 1);
  state.away = false;
  await until('it is matched', () => added.length === 1);
});

test('a full queue drops reactions, is told once, and holds up no event', async () => {
  const { added, state, outcomes, troubles } = await worker(wantedOf(['my/*']));
  state.full = true;
  for (let n = 0; n < 5; n += 1) await fire(`my/${n}`, mapOf({}));
  await until('they are dropped', () => outcomes.filter((one) => one === 'dropped').length === 5);
  state.full = false;
  await fire('my/5', mapOf({}));
  await until('the next one is in the queue', () => added.length === 1);
  expect(troubles).toEqual([
    expect.stringContaining('the queue of reactions is full'),
    'the queue of reactions has room again',
  ]);
});

test('a large value is trimmed as readers of the host have it', async () => {
  const { added } = await worker(wantedOf(['my/*']), 10_000);
  const more = { kind: 'minion', minion: 'web1' } as const;
  await fire('my/1', mapOf({ small: 1, large: 'x'.repeat(50_000) }), more);
  await fire('my/2', mapOf({ small: 1, large: 'x'.repeat(600_000) }), more);
  await until('both are matched', () => added.length === 2);
  const bodies = inOrder(added).map(({ body }) => unpackMap(body));
  expect(bodies).toEqual([
    mapOf({ small: 1, large: 'VALUE_TRIMMED' }),
    // So large that it is not even fetched.
    mapOf({ id: 'web1', return: 'VALUE_TRIMMED' }),
  ]);
});

test('a minion does not say when its event was fired', async () => {
  const { added } = await worker(wantedOf(['my/*']));
  await fire('my/1', mapOf({ _stamp: 'never', a: 1 }), { kind: 'minion', minion: 'web1' });
  await fire('my/2', mapOf({ _stamp: '2026-11-26T12:00:00.000000' }));
  await until('both are matched', () => added.length === 2);
  const data = inOrder(added).map(({ body }) => unpackMap(body).get('_stamp'));
  expect(data).toEqual([undefined, '2026-11-26T12:00:00.000000']);
});

const JOB: Job = {
  jid: JID,
  publication: pack(mapOf({ jid: JID, fun: 'test.ping' })),
  load: pack(mapOf({ jid: JID, fun: 'test.ping', arg: [] })),
  principal: 'root',
  user: 'root',
  fun: 'test.ping',
  tgt: '*',
  tgtType: 'glob',
  minions: ['one'],
  missing: [],
  hidden: false,
  host: 'here',
  requestId: 'r1',
  publishedAt: Date.now(),
  deadlineAt: Date.now() + 60_000,
  notAfter: Date.now() + 60_000,
};
