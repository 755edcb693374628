import { endPool, jobRow, makeDatabase, returnLoad, returnRow } from '@brine/testing';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { JobCache } from '../job-cache.ts';
import { COUNTS, getCounts, type Ledger } from './ledger.ts';

const { cache, pool, url } = await jobCacheScene();
/** Another process: it has a memory of jobs of its own. */
const second = await JobCache.connect(url);
afterAll(() => second.close());
const caches = [cache, second] as const;

const SECOND = 1000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MINIONS = ['m0', 'm1', 'm2', 'm3'];
const BELOW = ['m3', 'low'];

/** The sums of the ledger, by its definition. */
async function ledgerOf(jid: string): Promise<Ledger> {
  const { rows } = await pool.query<{ ledger: Ledger }>(
    `SELECT jsonb_build_object('targeted', count(*),
       'waiting', count(*) FILTER (WHERE state = 'waiting'),
       'returned', count(*) FILTER (WHERE state = 'returned'),
       'failed', count(*) FILTER (WHERE state = 'failed'),
       'late', count(*) FILTER (WHERE state = 'late'),
       'never', count(*) FILTER (WHERE state = 'never'),
       'unexpected', count(*) FILTER (WHERE unexpected), 'evidence', 0) AS ledger
     FROM brine.ledger WHERE jid = $1`,
    [jid],
  );
  return rows[0]!.ledger;
}

async function expectTrueCounts(jids: readonly string[]): Promise<void> {
  const { rows } = await pool.query<{ jid: string }>('SELECT jid FROM brine.jobs');
  const present = rows.map(({ jid }) => jid).filter((jid) => jids.includes(jid));
  const expected = await Promise.all(
    present.map(async (jid) => [jid, await ledgerOf(jid)] as const),
  );
  expect(Object.fromEntries(await getCounts(pool, jids))).toEqual(Object.fromEntries(expected));
}

/** An act of some writer on one of the jobs. */
type Act = Readonly<{ job: number; by: 0 | 1; seq: number }> &
  (
    | Readonly<{ kind: 'part'; minions: readonly string[]; hours: number | null }>
    | Readonly<{ kind: 'below'; minions: readonly string[] }>
    | Readonly<{ kind: 'return'; id: string; after: number; retcode: number; born: boolean }>
    | Readonly<{ kind: 'running'; id: string; after: number }>
    | Readonly<{ kind: 'foreign return'; id: string; after: number; retcode: number }>
    | Readonly<{ kind: 'foreign load' | 'forget job' | 'forget returns' | 'adopt' | 'day' }>
    | Readonly<{ kind: 'drop' | 'archive' }>
  );

const minion = fc.constantFrom(...MINIONS, ...BELOW, 'stranger');
/** Seconds after the publication, around deadlines of an hour and of two. */
const moment = fc.constantFrom(1, 1800, 3600, 3601, 5400, 7201, 20_000);
const retcode = fc.constantFrom(0, 0, 2);
const place = {
  job: fc.nat({ max: 3 }),
  by: fc.constantFrom(0 as const, 1 as const),
  seq: fc.integer({ min: 1, max: 40 }),
};
const rare = ['foreign load', 'forget job', 'forget returns', 'drop', 'archive', 'day'] as const;
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...place,
      kind: fc.constant('part' as const),
      minions: fc.subarray(MINIONS),
      hours: fc.constantFrom(1, 1, 2, null),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...place,
      kind: fc.constant('below' as const),
      minions: fc.subarray(BELOW),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      ...place,
      kind: fc.constant('return' as const),
      id: minion,
      after: moment,
      retcode,
      born: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...place,
      kind: fc.constant('foreign return' as const),
      id: minion,
      after: moment,
      retcode,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...place,
      kind: fc.constant('running' as const),
      id: minion,
      after: moment,
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...place, kind: fc.constant('adopt' as const) }) },
  { weight: 2, arbitrary: fc.record({ ...place, kind: fc.constantFrom(...rare) }) },
);

/** A job of a run: odd jids and old days lie in the default partitions. */
interface Place {
  readonly jid: string;
  readonly startMs: number;
}

/** Returns from the stream have a position each; of a lower one the others are evidence. */
async function perform(one: Act, { jid, startMs }: Place): Promise<void> {
  const writer = caches[one.by];
  const row = { seq: one.seq, publishedAt: startMs };
  if (one.kind === 'part') {
    const deadlineAt = one.hours === null ? undefined : startMs + one.hours * HOUR;
    await writer.saveJobs([jobRow(jid, { ...row, minions: one.minions, deadlineAt })]);
  } else if (one.kind === 'below') {
    const deadlineAt = startMs + 3 * HOUR;
    await writer.saveJobs([jobRow(jid, { ...row, minions: one.minions, deadlineAt, syndic: 's' })]);
  } else if (one.kind === 'return') {
    const born = one.born ? { tgt: one.id, tgt_type: 'glob' } : {};
    const load = returnLoad(jid, one.id, one.seq, { retcode: one.retcode, ...born });
    const receivedAt = startMs + one.after * SECOND;
    await writer.saveReturns([returnRow(jid, one.id, null, { load, receivedAt, seq: one.seq })]);
  } else if (one.kind === 'running') {
    const at = startMs + one.after * SECOND;
    await writer.saveSightings([{ jid, ids: [one.id], kind: 'running', at }]);
  } else if (one.kind === 'adopt') {
    await writer.adoptOrphans(0);
  } else if (one.kind === 'drop') {
    await Promise.all(caches.map((each) => each.dropOlderThan(Date.now() - 50 * DAY)));
  } else if (one.kind === 'archive') {
    await Promise.all(caches.map((each) => each.archiveOlderThan(Date.now() - 50 * DAY)));
  } else {
    await performForeign(one, { jid, startMs });
  }
}

async function performForeign(one: Act, { jid, startMs }: Place): Promise<void> {
  if (one.kind === 'foreign return') {
    const full = JSON.stringify({ jid, id: one.id, fun: 'test.ping', retcode: one.retcode });
    const at = startMs / SECOND + one.after;
    await pool.query(
      `INSERT INTO salt_returns (fun, jid, return, id, success, full_ret, alter_time)
       VALUES ('test.ping', $1, $2, $3, 'true', $4, to_timestamp($5))`,
      [jid, String(one.seq), one.id, full, at],
    );
  } else if (one.kind === 'foreign load') {
    const load = JSON.stringify({ fun: 'test.ping', tgt: '*', arg: [one.seq] });
    await pool.query(
      'INSERT INTO jids (jid, load) VALUES ($1, $2) ON CONFLICT (jid) DO UPDATE SET load = $2',
      [jid, load],
    );
  } else if (one.kind === 'forget job') {
    await pool.query('DELETE FROM jids WHERE jid = $1', [jid]);
  } else if (one.kind === 'forget returns') {
    await pool.query('DELETE FROM salt_returns WHERE jid = $1', [jid]);
  } else if (one.kind === 'day' && /^\d{20}$/.test(jid)) {
    await pool.query('SELECT brine.ensure_day($1)', [jid.slice(0, 8)]);
  }
}

/**
 * A deadlock or a lock that lasts is an outage: the store gives the same rows again. 23514: the day
 * of a row got its partition while the row was on its way to the default one.
 */
async function untilDone(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const state = (error as { code?: unknown; sqlState?: unknown }).sqlState;
      const code = (error as { code?: unknown }).code;
      const isPassing = ['40P01', '55P03', '23514'].some((one) => one === state || one === code);
      if (!isPassing || tries === 20) throw error;
    }
  }
}

let runs = 0;

function placesOf(run: number): readonly Place[] {
  const now = Math.floor(Date.now() / SECOND) * SECOND;
  const jidAt = (ms: number, n: number): string =>
    new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14) +
    `${String(run).padStart(5, '0')}${n}`;
  // Its deadline is far, over, over in a day without partitions, and in one that retention ends.
  const starts = [now - HOUR / 2, now - 30 * HOUR, now - (20 + (run % 20)) * DAY, now - 60 * DAY];
  return starts.map((startMs, n) => ({
    startMs,
    jid: n === 3 && run % 2 === 0 ? `odd-${run}` : jidAt(startMs, n),
  }));
}

test('counts are the sums of the ledger, whoever writes, deletes and moves what, and when', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 6 }),
      async (acts, atOnce) => {
        const places = placesOf((runs += 1));
        for (let at = 0; at < acts.length; at += atOnce) {
          const some = acts.slice(at, at + atOnce);
          await Promise.all(some.map((one) => untilDone(() => perform(one, places[one.job]!))));
        }
        const jids = places.map(({ jid }) => jid);
        await expectTrueCounts(jids);
        await untilDone(async () => void (await cache.adoptOrphans(0)));
        await expectTrueCounts(jids);
      },
    ),
    { numRuns: Number(process.env['COUNT_RUNS'] ?? 60) },
  );
}, 300_000);

const NOW = Math.floor(Date.now() / SECOND) * SECOND;
let made = 0;

/** A jid of today that no other test has. */
function freshJid(): string {
  const seconds = new Date(NOW).toISOString().replace(/\D/g, '').slice(0, 14);
  return `${seconds}9${String((made += 1)).padStart(5, '0')}`;
}

const published = (jid: string, minions: readonly string[], seq = 1) =>
  jobRow(jid, { seq, minions, publishedAt: NOW, deadlineAt: NOW + HOUR });
const returned = (jid: string, id: string, seq = 1, receivedAt = NOW) =>
  returnRow(jid, id, seq, { seq, receivedAt });

async function doubtsOf(jid: string): Promise<string[]> {
  const text = 'SELECT id FROM brine.doubts WHERE jid = $1 ORDER BY id';
  return (await pool.query<{ id: string }>(text, [jid])).rows.map(({ id }) => id);
}

test('returns of targets in time are in no doubt, also in a process that did not store the job', async () => {
  const jid = freshJid();
  await cache.saveJobs([published(jid, ['m1', 'm2', 'm3'])]);
  await cache.saveReturns([returned(jid, 'm1')]);
  await second.saveReturns([
    returned(jid, 'm2', 2),
    returned(jid, 'm3', 3, NOW + 2 * HOUR),
    returned(jid, 'stranger', 4),
  ]);
  expect(await doubtsOf(jid)).toEqual(['m3', 'stranger']);
  expect((await cache.counts([jid])).get(jid)).toMatchObject({
    targeted: 4,
    returned: 3,
    late: 1,
    unexpected: 1,
  });
});

test('a part that another process stores, and a later deadline, are read again a little later', async () => {
  const database = await makeDatabase();
  let now = NOW;
  const mine = await JobCache.connect(database.url, { now: () => now });
  const other = await JobCache.connect(database.url, { now: () => now });
  const client = new pg.Pool({ connectionString: database.url, max: 1 });
  try {
    const jid = freshJid();
    await mine.saveJobs([published(jid, ['m1', 'm4'])]);
    await other.saveJobs([published(jid, ['m2', 'm3'], 2)]);
    await other.saveSightings([{ jid, ids: ['m4'], kind: 'running', at: NOW + 2 * HOUR }]);
    await mine.saveReturns([returned(jid, 'm2', 1), returned(jid, 'm1', 2, NOW + 2 * HOUR)]);
    now += 5 * SECOND;
    await mine.saveReturns([returned(jid, 'm3', 3), returned(jid, 'm4', 4, NOW + 2 * HOUR)]);
    const { rows } = await client.query('SELECT id, outside FROM brine.doubts ORDER BY id');
    expect(rows).toEqual([
      { id: 'm1', outside: null },
      { id: 'm2', outside: 2 },
    ]);
    const counts = (await getCounts(client, [jid])).get(jid);
    expect(counts).toMatchObject({ targeted: 4, returned: 4, late: 0, unexpected: 0 });
  } finally {
    await endPool(client);
    await mine.close();
    await other.close();
    await database.drop();
  }
});

test('doubts about early returns are cleared once their job is there, and only those', async () => {
  const jid = freshJid();
  await cache.saveReturns([
    returned(jid, 'm1', 1),
    returned(jid, 'm2', 2, NOW + 2 * HOUR),
    returned(jid, 'stranger', 3),
  ]);
  await second.saveJobs([published(jid, ['m1', 'm2', 'm3'])]);
  expect(await doubtsOf(jid)).toEqual(['m1', 'm2', 'stranger']);
  const before = (await cache.counts([jid])).get(jid);
  expect(before).toMatchObject({ targeted: 4, waiting: 1, returned: 2, late: 1, unexpected: 1 });
  await cache.adoptOrphans(0);
  expect(await doubtsOf(jid)).toEqual(['m2', 'stranger']);
  expect((await cache.counts([jid])).get(jid)).toEqual(before);
});

test('a return is never expected on the word of a job that was born of a return', async () => {
  const jid = freshJid();
  const born = returnLoad(jid, 'm1', 1, { tgt: 'm1', tgt_type: 'glob' });
  await cache.saveReturns([returnRow(jid, 'm1', null, { load: born, receivedAt: NOW })]);
  // This process reads the job's row, whose only target is m1.
  await second.saveReturns([returned(jid, 'm2', 2)]);
  await second.saveReturns([returnRow(jid, 'm1', 9, { seq: 9, receivedAt: NOW })]);
  expect(await doubtsOf(jid)).toEqual(['m1', 'm2']);
  const counts = { targeted: 2, returned: 2, waiting: 0, unexpected: 1 };
  expect((await cache.counts([jid])).get(jid)).toMatchObject(counts);
  await pool.query('DELETE FROM salt_returns WHERE jid = $1', [jid]);
  await second.saveReturns([returned(jid, 'm1', 3)]);
  expect(await doubtsOf(jid)).toEqual(['m1']);
  await cache.saveJobs([published(jid, ['m7'])]);
  expect((await cache.counts([jid])).get(jid)).toMatchObject({ targeted: 2, unexpected: 1 });
});

test('a jid that is used again shows the ledger, whatever a process remembers of the job before', async () => {
  const jid = freshJid();
  await cache.saveJobs([published(jid, ['m1', 'm2'])]);
  await pool.query('DELETE FROM jids WHERE jid = $1', [jid]);
  await second.saveJobs([published(jid, ['m3'])]);
  await cache.saveReturns([returned(jid, 'm1')]);
  expect(await doubtsOf(jid)).toEqual([]);
  const counts = { targeted: 2, waiting: 1, returned: 1, unexpected: 1 };
  expect((await cache.counts([jid])).get(jid)).toMatchObject(counts);
});

test('rows that move into the partition of their day count as before', async () => {
  const jid = '20290101100000000001';
  await cache.saveJobs([jobRow(jid, { minions: ['m1', 'm2'], deadlineAt: NOW + HOUR })]);
  await cache.saveReturns([returned(jid, 'm1'), returned(jid, 'stranger', 2)]);
  const before = (await cache.counts([jid])).get(jid);
  expect(before).toMatchObject({ targeted: 3, waiting: 1, returned: 2, unexpected: 1 });
  await pool.query("SELECT brine.ensure_day('20290101')");
  const { rows } = await pool.query(
    `SELECT relname AS part FROM pg_class WHERE oid IN (
       SELECT tableoid FROM brine.job_counts WHERE jid = $1
       UNION SELECT tableoid FROM brine.doubts WHERE jid = $1
     ) ORDER BY 1`,
    [jid],
  );
  expect(rows).toEqual([{ part: 'doubts_20290101' }, { part: 'job_counts_20290101' }]);
  expect((await cache.counts([jid])).get(jid)).toEqual(before);
});

test('many connections that store the same jobs at once count each return once', async () => {
  const jids = Array.from({ length: 5 }, freshJid).sort();
  const ids = Array.from({ length: 200 }, (_, n) => `m${n}`);
  await cache.saveJobs(jids.map((jid) => published(jid, ids)));
  const rows = jids.flatMap((jid) => ids.map((id, n) => returned(jid, id, n)));
  // Each row comes twice, to either process, in batches that cross.
  const batches = Array.from({ length: 50 }, (_, n) => rows.filter((_, at) => at % 25 === n % 25));
  await Promise.all(
    batches.map((batch, n) =>
      untilDone(async () => void (await caches[n % 2]!.saveReturns(batch))),
    ),
  );
  const counts = await cache.counts(jids);
  for (const jid of jids) expect(counts.get(jid)).toMatchObject({ targeted: 200, returned: 200 });
  await expectTrueCounts(jids);
});

/** A node of a plan. */
interface Node {
  readonly 'Relation Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Node[];
}

test('counts read the days of their jobs, and neither targets nor returns', async () => {
  const jid = freshJid();
  const ids = Array.from({ length: 20_000 }, (_, n) => `minion-${n}.example.org`);
  await cache.saveJobs([published(jid, ids)]);
  await cache.saveReturns(ids.slice(0, 500).map((id, n) => returned(jid, id, n)));
  for (const table of ['jobs', 'job_counts', 'doubts']) await pool.query(`ANALYZE brine.${table}`);
  const { rows } = await pool.query<{ 'QUERY PLAN': { Plan: Node }[] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${COUNTS}`,
    [[jid]],
  );
  const flat = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flat)];
  const [top, ...rest] = rows[0]!['QUERY PLAN'].flatMap(({ Plan }) => flat(Plan));
  const tables = new Set(rest.flatMap((node) => node['Relation Name'] ?? []));
  const day = jid.slice(0, 8);
  expect([...tables].sort()).toEqual([`doubts_${day}`, `job_counts_${day}`, `jobs_${day}`]);
  // The targets alone are more than 20 blocks.
  expect(top!['Shared Hit Blocks'] + top!['Shared Read Blocks']).toBeLessThan(20);
  expect((await cache.counts([jid])).get(jid)).toMatchObject({ targeted: 20_000, returned: 500 });
});

test('a page has 501 jobs at most, and a jid without a job has no counts', async () => {
  const jids = Array.from({ length: 502 }, freshJid);
  await expect(cache.counts(jids)).rejects.toThrow(RangeError);
  expect((await cache.counts(jids.slice(1))).size).toBe(0);
});
