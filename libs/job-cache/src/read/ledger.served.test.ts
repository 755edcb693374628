import { jobRow, returnLoad, returnRow } from '@brine/testing';
import { mapOf, pack, unpackMap } from '@brine/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { type JobCache } from '../job-cache.ts';
import type { JobRow, ReturnRow } from '../save/rows.ts';
import type { ReturnState } from './ledger.ts';

const { cache, pool } = await jobCacheScene();

const SECOND = 1000;
const HOUR = 3_600_000;
const MINIONS = ['m0', 'm1', 'm2', 'm3', 'm4'];
const RUNNING = mapOf({ pid: 1 });
const IDLE = mapOf({});

/** The history of one job in the streams. Times are seconds after its publication. */
interface Story {
  /** True if its time is long over, otherwise the end is far. */
  readonly isOver: boolean;
  /** The targets of each part, in the order they were published; none: never published. */
  readonly parts: readonly (readonly string[])[];
  /** The minions that lower masters expect, one list of each syndic. */
  readonly below: readonly (readonly string[])[];
  readonly returns: readonly {
    readonly id: string;
    readonly after: number;
    readonly retcode: number;
  }[];
  readonly answers: readonly {
    readonly id: string;
    readonly after: number;
    readonly isRunning: boolean;
  }[];
}

const BELOW = ['m4', 'low0', 'low1'];
const minion = fc.constantFrom(...MINIONS, ...BELOW, 'stranger');
/** Around the deadline of an hour, and around one that was prolonged. */
const moment = fc.constantFrom(1, 1800, 3599, 3600, 3601, 5400, 7000, 7300, 20_000);
const story: fc.Arbitrary<Story> = fc.record({
  isOver: fc.boolean(),
  parts: fc.array(fc.subarray(MINIONS, { minLength: 1 }), { maxLength: 3 }),
  below: fc.array(fc.subarray(BELOW), { maxLength: 2 }),
  returns: fc.array(fc.record({ id: minion, after: moment, retcode: fc.constantFrom(0, 0, 2) }), {
    maxLength: 8,
  }),
  answers: fc.array(fc.record({ id: minion, after: moment, isRunning: fc.boolean() }), {
    maxLength: 5,
  }),
});

/** The first 14 digits of the jids of a second. */
function secondsOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14);
}

type Item = { readonly job: JobRow } | { readonly ret: ReturnRow };

/** A story as rows: each is at a position of its stream, and the position is its order in time. */
function itemsOf(jid: string, n: number, startMs: number, told: Story): Item[] {
  const jobs = told.parts.map((minions, part): Item => {
    const place = { seq: 1000 * n + part, publishedAt: startMs, deadlineAt: startMs + HOUR };
    return { job: jobRow(jid, { ...place, minions, missing: [`gone${part}`] }) };
  });
  // A lower master's deadline counts only if the job was not published here.
  const after = told.parts.length > 0 ? 2 * HOUR : HOUR;
  const below = told.below.map((minions, at): Item => {
    const place = { seq: 1000 * n + 10 + at, publishedAt: startMs, deadlineAt: startMs + after };
    return { job: jobRow(jid, { ...place, minions, syndic: `s${at}` }) };
  });
  const returns = told.returns.map(({ id, after, retcode }, at): Item => {
    const load = returnLoad(jid, id, `value ${at}`, { retcode });
    const receivedAt = startMs + after * SECOND;
    return { ret: returnRow(jid, id, null, { load, receivedAt, seq: 1000 * n + at }) };
  });
  const answers = told.answers.map(({ id, after, isRunning }, at): Item => {
    const asking = `${jid.slice(0, 14)}5${n}000${at}`;
    const more = { fun: 'saltutil.find_job', fun_args: [jid] };
    const load = returnLoad(asking, id, isRunning ? RUNNING : IDLE, more);
    const receivedAt = startMs + after * SECOND;
    return { ret: returnRow(asking, id, null, { load, receivedAt, seq: 1000 * n + 500 + at }) };
  });
  return [...jobs, ...below, ...returns, ...answers];
}

function targetsOf({ parts, below }: Story): Set<string> {
  return new Set([...parts, ...below].flat());
}

/** The rule of the ledger, written once more and without a database. */
function expectedStates(told: Story): Map<string, ReturnState> {
  const targets = targetsOf(told);
  const running = told.answers.filter(({ id, isRunning }) => isRunning && targets.has(id));
  const deadline = 3600 + Math.max(0, ...running.map(({ after }) => after));
  const states = new Map<string, ReturnState>();
  for (const id of targets) states.set(id, told.isOver ? 'never' : 'waiting');
  for (const { id, after, retcode } of [...told.returns].reverse()) {
    states.set(id, after > deadline ? 'late' : retcode === 0 ? 'returned' : 'failed');
  }
  return states;
}

async function clear(): Promise<void> {
  const tables = ['jobs', 'returns', 'evidence', 'sightings', 'orphans', 'counters'];
  await pool.query(tables.map((table) => `DELETE FROM brine.${table}`).join(';'));
}

let made = 0;

test('the ledger adds up, whatever comes in which order and how often', async () => {
  const run = fc.array(story, { minLength: 1, maxLength: 3 }).chain((stories) => {
    const now = Math.floor(Date.now() / SECOND) * SECOND;
    const starts = stories.map(({ isOver }) => now + (isOver ? -40 : -0.5) * HOUR);
    // Never a jid of the run before: the cache remembers which have a job.
    made += 1;
    const jids = starts.map((ms, n) => `${secondsOf(ms)}${String(made).padStart(5, '0')}${n}`);
    const items = stories.flatMap((told, n) => itemsOf(jids[n]!, n, starts[n]!, told));
    return fc.record({
      stories: fc.constant(stories),
      jids: fc.constant(jids),
      order: fc.shuffledSubarray(items, { minLength: items.length }),
      again: fc.array(fc.nat(), { maxLength: 10 }),
      batch: fc.integer({ min: 1, max: 10 }),
    });
  });
  await fc.assert(
    fc.asyncProperty(run, async ({ stories, jids, order, again, batch }) => {
      await clear();
      const extra = order.length === 0 ? [] : again.map((at) => order[at % order.length]!);
      const deliveries = [...order, ...extra];
      for (let at = 0; at < deliveries.length; at += batch) {
        const some = deliveries.slice(at, at + batch);
        await Promise.all([
          cache.saveJobs(some.flatMap((item) => ('job' in item ? [item.job] : []))),
          cache.saveReturns(some.flatMap((item) => ('ret' in item ? [item.ret] : []))),
        ]);
      }
      await cache.adoptOrphans(0);
      for (const [n, told] of stories.entries()) {
        const job = await cache.getJob(jids[n]!, { states: true });
        if (told.parts.length + told.below.length === 0) expectBorn(told, job);
        else expectLedger(told, job);
      }
    }),
    { numRuns: 40 },
  );
}, 120_000);

type Found = Awaited<ReturnType<JobCache['getJob']>>;

function expectLedger(told: Story, job: Found): void {
  const states = expectedStates(told);
  expect(Object.fromEntries(job?.states ?? [])).toEqual(Object.fromEntries(states));
  const { targeted, waiting, returned, failed, late, never } = job?.ledger ?? ({} as never);
  expect(targeted).toBe(states.size);
  expect(waiting + returned + failed + late + never).toBe(targeted);
  if (told.isOver) expect(waiting).toBe(0);
  expect(job?.origin).toBe(told.parts.length > 0 ? 'publication' : 'syndic');
  const targets = targetsOf(told);
  expect(new Set(job?.minions)).toEqual(targets);
  expect(job?.minions.length).toBe(targets.size);
  const strangers = [...states.keys()].filter((id) => !targets.has(id));
  expect(job?.ledger.unexpected).toBe(strangers.length);
}

/** A job without a publish has the minions that returned, and waits for no other. */
function expectBorn(told: Story, job: Found): void {
  const ids = new Set(told.returns.map(({ id }) => id));
  if (ids.size === 0) {
    expect(job).toBeUndefined();
    return;
  }
  expect(job?.origin).toBe('return');
  expect(new Set(job?.states?.keys())).toEqual(ids);
  expect(job?.ledger).toMatchObject({ targeted: ids.size, waiting: 0, never: 0, late: 0 });
}

test('targets of all parts are counted once', async () => {
  await clear();
  const jid = '20261120110000000001';
  const part = (seq: number, minions: readonly string[]): JobRow => jobRow(jid, { seq, minions });
  await cache.saveJobs([part(2, ['m2', 'm3'])]);
  await cache.saveJobs([part(1, ['m1', 'm2']), part(3, ['m4'])]);
  await cache.saveJobs([part(3, ['m4']), part(2, ['m2', 'm3'])]);
  const job = await cache.getJob(jid);
  expect(job?.minions).toEqual(['m1', 'm2', 'm3', 'm4']);
  expect(job?.seq).toBe(1);
  const counted = await pool.query(
    'SELECT metric, sum(value) AS sum FROM brine.counters GROUP BY metric ORDER BY metric',
  );
  expect(counted.rows).toEqual([
    { metric: 'jobs', sum: 1 },
    { metric: 'targeted', sum: 4 },
  ]);
});

test('minions below a syndic are targeted too, before and after the publication', async () => {
  const targeted = 'SELECT sum(value)::integer AS sum FROM brine.counters WHERE metric = $1';
  const jid = '20261120110000000002';
  const published = jobRow(jid, { seq: 9, minions: ['m1'], missing: ['gone'] });
  const below = (seq: number, minions: readonly string[]): JobRow =>
    jobRow(jid, {
      seq,
      minions,
      syndic: 's1',
      deadlineAt: 1_795_009_999_000,
      load: pack(mapOf({})),
    });
  for (const order of [
    [published, below(1, ['low1', 'low2']), below(2, ['low3', 'm1'])],
    [below(1, ['low1', 'low2']), published, below(2, ['low3', 'm1'])],
    [below(2, ['low3', 'm1']), below(1, ['low1', 'low2']), published],
  ]) {
    await clear();
    await cache.saveReturns([returnRow(jid, 'low1', true), returnRow(jid, 'late', true)]);
    for (const row of [...order, ...order]) await cache.saveJobs([row]);
    const job = await cache.getJob(jid, { states: true });
    expect(job).toMatchObject({
      origin: 'publication',
      missing: ['gone'],
      load: unpackMap(published.load),
    });
    expect([...(job?.minions ?? [])].sort()).toEqual(['low1', 'low2', 'low3', 'm1']);
    expect(job?.deadlineAt).toBe(published.deadlineAt);
    expect(job?.ledger).toMatchObject({ targeted: 5, returned: 2, unexpected: 1 });
    expect((await pool.query(targeted, ['targeted'])).rows).toEqual([{ sum: 4 }]);
    expect((await pool.query(targeted, ['jobs'])).rows).toEqual([{ sum: 1 }]);
  }
});

test('the state of a minion is judged by its return and the deadline, at any time', async () => {
  const cases = [
    [null, null, 10, 11, 'never'],
    [null, null, 10, 9, 'waiting'],
    [null, null, null, 11, 'waiting'],
    [10, false, 10, 99, 'returned'],
    [11, false, 10, 12, 'late'],
    [11, true, 10, 12, 'late'],
    [9, true, 10, 12, 'failed'],
    [9, true, null, 12, 'failed'],
  ] as const;
  for (const [received, failed, deadline, at, expected] of cases) {
    const found = await pool.query<{ state: string }>(
      `SELECT brine.ledger_state(to_timestamp($1::float8), $2, to_timestamp($3::float8),
         to_timestamp($4::float8)) AS state`,
      [received, failed, deadline, at],
    );
    expect(found.rows, JSON.stringify([received, failed, deadline, at])).toEqual([
      { state: expected },
    ]);
  }
});
