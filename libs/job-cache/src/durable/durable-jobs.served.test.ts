import { IDLE } from '@brine/job/durable';
import { jobRow, returnLoad, returnRow } from '@brine/testing';
import { mapOf, pack, type SaltValue } from '@brine/wire';
import { afterAll, expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { JobCache } from '../index.ts';

const PUBLICATION = pack(mapOf({ fun: 'test.ping' }));
const START = Date.UTC(2026, 10, 20, 12);
let now = START;
let count = 0;

// The question which minions run a job may not depend on the content of returns.
const { cache, pool, url } = await jobCacheScene({ now: () => now, keepReturns: false });
const other = await JobCache.connect(url, { now: () => now });
afterAll(() => other.close());

async function open(minions: string[], ttlMs = 3_600_000, ageMs = 0): Promise<string> {
  count += 1;
  const jid = `202611201200000000${String(count).padStart(2, '0')}`;
  const row = jobRow(jid, { minions, requestId: `r${count}` });
  await cache.saveJobs([row]);
  const times = { publishedAt: now - ageMs, notAfter: now + ttlMs };
  const durable = { ...row, ...times, requestId: `r${count}`, publication: PUBLICATION };
  // A redelivery changes nothing.
  await cache.durable.open([durable, durable]);
  return jid;
}

/** A minion's answer to find_job. */
async function answer(
  jid: string,
  probe: string,
  id: string,
  value: SaltValue,
  by = cache,
): Promise<void> {
  const load = returnLoad(probe, id, value, { fun: 'saltutil.find_job', fun_args: [jid] });
  await by.saveReturns([returnRow(probe, id, value, { load, receivedAt: now + 1 })]);
}

const NOBODY = new Map<string, number>();
let probes = 0;
const nextProbe = (): string => `20261120120000100000_p${(probes += 1)}`;

test('a task goes to one owner, to another when it dies, and is over once confirmed', async () => {
  const jid = await open(['a', 'b', 'c', 'd']);
  expect(await cache.durable.take(NOBODY, nextProbe())).toEqual({ task: undefined, open: 1 });
  now += 10_000;
  const probe = nextProbe();
  const [one, two] = await Promise.all([
    cache.durable.take(NOBODY, probe),
    other.durable.take(NOBODY, probe),
  ]);
  const task = one.task ?? two.task;
  if (task === undefined) throw new Error('no task was due');
  expect([one.task, two.task]).toContain(undefined);
  expect(task).toMatchObject({ jid, turn: 1, look: 0, probe, seq: 1 });
  expect(task.action).toEqual({ kind: 'ask', minions: ['a', 'b', 'c', 'd'] });
  now += 60_000;
  const again = await other.durable.take(NOBODY, nextProbe());
  expect(again.task).toMatchObject({ turn: 1, probe, action: task.action });
  expect((await cache.durable.take(NOBODY, nextProbe())).task).toBeUndefined();
  await other.durable.confirm(task);
  await cache.durable.confirm(task);

  now += 500;
  await answer(jid, probe, 'a', new Map());
  await answer(jid, probe, 'b', mapOf({ jid }));
  await answer(jid, probe, 'd', "'saltutil.find_job' is not available.", other);
  await cache.saveReturns([returnRow(jid, 'c', true)]);
  now += 2_000;
  const sending = await cache.durable.take(NOBODY, nextProbe());
  expect(sending.task).toMatchObject({ turn: 1, look: 1, publication: Buffer.from(PUBLICATION) });
  expect(sending.task?.action).toEqual({ kind: 'send', minions: ['a', 'd'] });
  if (sending.task === undefined) return;
  await cache.durable.confirm(sending.task);
  await other.durable.confirm(sending.task);
  const sightings = `SELECT id, count, detail FROM brine.sightings
    WHERE jid = $1 AND kind = 'sent_again' ORDER BY id`;
  expect((await pool.query(sightings, [jid])).rows).toEqual([
    { id: 'a', count: 1, detail: { turn: 1 } },
    { id: 'd', count: 1, detail: { turn: 1 } },
  ]);
  expect(await cache.durable.list()).toMatchObject([
    { jid, targeted: 4, waiting: 3, turns: 1, sentAgain: 2, fun: ['test.ping'] },
  ]);
  await otherTurn(jid);
  for (const id of ['a', 'b', 'd']) await cache.saveReturns([returnRow(jid, id, true)]);
  now += 60_000;
  expect(await cache.durable.take(NOBODY, nextProbe())).toEqual({ task: undefined, open: 0 });
});

/** Another turn without answers: those from before the job was sent again are used up. */
async function otherTurn(jid: string): Promise<void> {
  const done: object[] = [];
  for (const until = now + 60_000; now < until; now += 5_000) {
    const { task } = await cache.durable.take(NOBODY, nextProbe());
    if (task === undefined) continue;
    done.push(task);
    await cache.durable.confirm(task);
  }
  const action = { kind: 'ask', minions: ['a', 'b', 'd'] };
  expect(done).toMatchObject([{ jid, turn: 2, look: 0, action }]);
}

test('a log-in of a minion that is waited for brings its turn, one of others nothing', async () => {
  const jid = await open(['e', 'f'], 86_400_000, 3_600_000);
  const first = await cache.durable.take(NOBODY, nextProbe());
  if (first.task === undefined) throw new Error('no task');
  await cache.durable.confirm(first.task);
  for (const ms of [2_000, 3_000, 5_000]) {
    now += ms;
    await cache.durable.take(NOBODY, nextProbe());
  }
  const heard = new Map([
    ['f', now],
    ['nobody', now],
  ]);
  await cache.durable.take(heard, nextProbe());
  const state = 'SELECT state FROM brine.durable WHERE jid = $1';
  const { rows } = await pool.query<{ state: { look: number; heard: object } }>(state, [jid]);
  expect(rows[0]?.state).toMatchObject({ look: IDLE, heard: { f: now } });
  now += 3_000;
  const { task } = await cache.durable.take(NOBODY, nextProbe());
  expect(task).toMatchObject({ jid, turn: 2, action: { kind: 'ask', minions: ['f'] } });
  now += 86_400_000;
  expect(await cache.durable.take(NOBODY, nextProbe())).toEqual({ task: undefined, open: 0 });
  const expired = "SELECT id, detail FROM brine.sightings WHERE jid = $1 AND kind = 'expired'";
  expect((await pool.query(expired, [jid])).rows).toEqual([{ id: '', detail: { waiting: 2 } }]);
  const left = 'SELECT closed, length(publication) AS bytes FROM brine.durable WHERE jid = $1';
  expect((await pool.query(left, [jid])).rows).toEqual([{ closed: 'expired', bytes: 0 }]);
});
