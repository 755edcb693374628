import { jobRow, returnLoad, returnRow } from '@brine/testing';
import type { SaltValue } from '@brine/wire';
import { mapOf, pack, SaltDatetime, SaltFloat } from '@brine/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { JobCache } from '../job-cache.ts';
import type { JobRow, ReturnRow } from './rows.ts';

const { cache, pool, url } = await jobCacheScene();

async function allRows(table: string): Promise<unknown[]> {
  const rows = await pool.query<{ row: unknown }>(
    // Which statement published a job may differ; that one did is seen by what was counted.
    `SELECT to_jsonb(t) - ARRAY['newly_published', 'newly_targeted'] AS row
     FROM brine.${table} t ORDER BY 1`,
  );
  return rows.rows.map(({ row }) => row);
}

async function clear(): Promise<void> {
  await pool.query('DELETE FROM brine.jobs; DELETE FROM brine.returns; DELETE FROM brine.evidence');
  await pool.query('DELETE FROM brine.orphans; DELETE FROM brine.quarantine');
  await pool.query('DELETE FROM brine.counters; DELETE FROM brine.last_values');
}

/** The numbers of the metrics and the rows of the tables. */
async function counts(): Promise<{ counted: unknown; stored: unknown }> {
  const counted = await pool.query(
    `SELECT sum(value) FILTER (WHERE metric = 'jobs') AS jobs,
       sum(value) FILTER (WHERE metric = 'targeted') AS targeted,
       sum(value) FILTER (WHERE metric = 'returns') AS returns,
       sum(value) FILTER (WHERE metric = 'responses') AS responses,
       sum(value) FILTER (WHERE metric = 'duration') AS durations
     FROM brine.counters`,
  );
  const stored = await pool.query(
    `SELECT jobs, targeted, returns, returns AS responses, returns AS durations
     FROM (SELECT count(*)::float8 AS jobs, sum(cardinality(minions))::float8 AS targeted
       FROM brine.jobs WHERE origin = 0) AS j,
       (SELECT count(*)::float8 AS returns FROM brine.returns) AS r`,
  );
  return { counted: counted.rows, stored: stored.rows };
}

test('a return is counted once, whatever is delivered again', async () => {
  const jid = '20261120100000000001';
  await cache.saveJobs([jobRow(jid)]);
  const row = returnRow(jid, 'm1', true);
  expect(await cache.saveReturns([row, row])).toMatchObject({ stored: 1, known: 1, refused: [] });
  expect(await cache.saveReturns([row])).toMatchObject({ stored: 0, known: 1, refused: [] });
  const job = await cache.getJob(jid);
  expect(job?.ledger).toMatchObject({ targeted: 3, returned: 1, waiting: 0, never: 2 });
  expect(job?.ledger.evidence).toBe(0);
});

test('of different returns the lowest sequence counts, the other is evidence', async () => {
  const jid = '20261120100000000002';
  await cache.saveReturns([returnRow(jid, 'm1', 'second', { seq: 9 })]);
  await cache.saveReturns([returnRow(jid, 'm1', 'first', { seq: 4 })]);
  await cache.saveReturns([returnRow(jid, 'm1', 'second', { seq: 10 })]);
  const { returns } = await cache.getJid(jid);
  expect(returns.get('m1')?.get('return')).toBe('first');
  const evidence = await pool.query('SELECT seq, full_ret FROM brine.evidence WHERE jid = $1', [
    jid,
  ]);
  expect(evidence.rows).toMatchObject([{ seq: '9', full_ret: { return: 'second' } }]);
});

test('resends that differ in nothing but their time are no evidence', async () => {
  const jid = '20261120100000000003';
  const at = (ts: number): Buffer => returnLoad(jid, 'm1', 'x', { ts });
  await cache.saveReturns([returnRow(jid, 'm1', 'x', { seq: 2, load: at(100) })]);
  await cache.saveReturns([returnRow(jid, 'm1', 'x', { seq: 3, load: at(200) })]);
  const found = await pool.query('SELECT FROM brine.evidence WHERE jid = $1', [jid]);
  expect(found.rowCount).toBe(0);
});

test('evidence is bounded', async () => {
  const jid = '20261120100000000004';
  const rows = Array.from({ length: 30 }, (_, n) => returnRow(jid, 'm1', `v${n}`, { seq: 50 + n }));
  await cache.saveReturns(rows);
  const found = await pool.query('SELECT FROM brine.evidence WHERE jid = $1', [jid]);
  expect(found.rowCount).toBe(8);
  const { returns } = await cache.getJid(jid);
  expect(returns.get('m1')?.get('return')).toBe('v0');
});

test('any order and repetition of jobs and returns ends in the same tables and counts', async () => {
  const jids = ['20261120110000000001', '20261120110000000002', 'odd'];
  const jobs: JobRow[] = jids.map((jid, n) => jobRow(jid, { seq: n + 1 }));
  jobs.push(jobRow(jids[0]!, { seq: 7, user: 'again' }));
  jobs.push(jobRow(jids[1]!, { seq: 1, incarnation: 'e1', bornOfReturn: true }));
  const returns: ReturnRow[] = jids.flatMap((jid, j) =>
    ['m1', 'm2', 'stranger'].flatMap((id, m) => [
      returnRow(jid, id, `a${m}`, { seq: 100 + j * 10 + m }),
      returnRow(jid, id, `b${m}`, { seq: 200 + j * 10 + m }),
      returnRow(jid, id, `a${m}`, { seq: 300 + j * 10 + m }),
    ]),
  );
  type Item = { job: JobRow } | { ret: ReturnRow };
  const items: Item[] = [...jobs.map((job) => ({ job })), ...returns.map((ret) => ({ ret }))];
  const deliver = async (deliveries: readonly Item[], batch: number): Promise<unknown> => {
    await clear();
    for (let at = 0; at < deliveries.length; at += batch) {
      const some = deliveries.slice(at, at + batch);
      await Promise.all([
        cache.saveJobs(some.flatMap((item) => ('job' in item ? [item.job] : []))),
        cache.saveReturns(some.flatMap((item) => ('ret' in item ? [item.ret] : []))),
      ]);
    }
    return Promise.all(['jobs', 'returns', 'evidence', 'quarantine'].map(allRows));
  };
  const expected = await deliver(items, items.length);
  const order = fc
    .tuple(
      fc.shuffledSubarray(items, { minLength: items.length }),
      fc.array(fc.constantFrom(...items), { maxLength: 20 }),
      fc.integer({ min: 1, max: 12 }),
    )
    .map(([all, again, batch]) => ({ deliveries: [...all, ...again], batch }));
  await fc.assert(
    fc.asyncProperty(order, async ({ deliveries, batch }) => {
      expect(await deliver(deliveries, batch)).toEqual(expected);
      const { counted, stored } = await counts();
      expect(counted).toEqual(stored);
    }),
    { numRuns: 25 },
  );
  await clear();
});

test('two writers at once store each return once', async () => {
  const jid = '20261120120000000001';
  const other = await JobCache.connect(url);
  const rows = Array.from({ length: 400 }, (_, n) => returnRow(jid, `m${n}`, n, { seq: n }));
  const turned = rows.map((row) => ({ ...row, seq: row.seq + 1000 })).reverse();
  await Promise.all([
    cache.saveReturns(rows),
    other.saveReturns(turned),
    cache.saveReturns(turned),
  ]);
  await other.close();
  const found = await pool.query<{ count: string; most: string }>(
    'SELECT count(*), max(seq) AS most FROM brine.returns WHERE jid = $1',
    [jid],
  );
  expect(found.rows).toEqual([{ count: '400', most: '399' }]);
});

test('a poisoned row goes to quarantine with its bytes and the rest is stored', async () => {
  const jid = '20261120130000000001';
  const rows = Array.from({ length: 100 }, (_, n) => returnRow(jid, `m${n}`, n, { seq: n }));
  rows[17] = returnRow(jid, 'nul\0in the id', 17, { seq: 17 });
  rows[61] = { ...returnRow(jid, 'm61', 61, { seq: 61 }), load: Buffer.from('c1', 'hex') };
  rows[62] = returnRow(jid, 'm62', 62, { seq: Number.NaN });
  const report = await cache.saveReturns(rows);
  expect(report.stored).toBe(97);
  expect(report.refused.map((row) => row.id).sort()).toEqual(['m61', 'm62', 'nul\0in the id']);
  const kept = await pool.query<{ seq: string; raw: Buffer; sqlstate: string }>(
    'SELECT seq, raw, sqlstate FROM brine.quarantine ORDER BY seq',
  );
  expect(kept.rows.map((row) => row.seq)).toEqual(['-1', '17', '61']);
  expect(kept.rows[1]?.raw.equals(rows[17].load as Buffer)).toBe(true);
  expect(kept.rows[1]?.sqlstate).toBe('22P05');
  // The same again adds nothing.
  await cache.saveReturns(rows);
  expect(await allRows('quarantine')).toHaveLength(3);
  await clear();
});

test('a poisoned job goes to quarantine with its whole content', async () => {
  const job = jobRow('20261120130000000002', { minions: ['a', 'nul\0'] });
  const report = await cache.saveJobs([job, jobRow('20261120130000000003')]);
  expect(report).toMatchObject({ stored: 1, refused: [{ kind: 'job', jid: job.jid }] });
  const [row] = (await pool.query<{ raw: Buffer }>('SELECT raw FROM brine.quarantine')).rows;
  const held = JSON.parse(row?.raw.toString() ?? '') as { minions: string[]; load: string };
  expect(held.minions).toEqual(['a', 'nul\0']);
  expect(Buffer.from(held.load, 'base64').equals(job.load as Buffer)).toBe(true);
  await clear();
});

test('values that JSON has no form for come back as they were', async () => {
  const jid = '20261120140000000001';
  const values: SaltValue[] = [
    Buffer.from([0xff, 0xfe, 0, 1]),
    'text with \0 in it',
    NaN,
    -Infinity,
    2n ** 64n - 1n,
    new SaltFloat(1),
    new SaltDatetime('20261120T10:00:00.000001'),
    new Map<SaltValue, SaltValue>([
      [1, 'integer key'],
      ['1', 'text key'],
      [Buffer.from([0xff]), null],
    ]),
    mapOf({ z: 1, a: 2, $bytes: 'x' }),
    mapOf({ $bytes: 'looks like an escape' }),
    -0,
    1e300,
    '\u{1F9C2} \uFEFFbom',
  ];
  const rows = values.map((value, n) => returnRow(jid, `m${n}`, value, { seq: n }));
  expect((await cache.saveReturns(rows)).refused).toEqual([]);
  const { returns } = await cache.getJid(jid);
  for (const [n, value] of values.entries()) {
    const stored = returns.get(`m${n}`)?.get('return');
    expect(pack(stored ?? null).equals(pack(value)), `value ${n}`).toBe(true);
  }
});

test('a return of 50 MB is stored whole', async () => {
  const jid = '20261120140000000002';
  const text = 'öl\n'.repeat(13 * 1024 * 1024);
  const load = returnLoad(jid, 'm1', text);
  expect(load.byteLength).toBeGreaterThan(50 * 1024 * 1024);
  const rows = [returnRow(jid, 'm0', 'small'), returnRow(jid, 'm1', text, { seq: 2 })];
  expect(await cache.saveReturns(rows)).toMatchObject({ stored: 2, refused: [] });
  const page = await cache.getJid(jid);
  expect(page.next).toBe('m0');
  const rest = await cache.getJid(jid, { after: 'm0' });
  expect(rest.returns.get('m1')?.get('return') === text).toBe(true);
  expect(rest.next).toBeUndefined();
});

test('a return that names its target makes its own job at once', async () => {
  const jid = '20261120145000000001';
  const load = returnLoad(jid, 'm1', true, { tgt: 'm1', tgt_type: 'glob', arg: ['x'] });
  await cache.saveReturns([returnRow(jid, 'm1', true, { load })]);
  const job = await cache.getJob(jid, { states: true });
  expect(job).toMatchObject({ origin: 'return', minions: ['m1'], tgt: ['m1'], fun: ['test.ping'] });
  expect(job?.ledger).toMatchObject({ targeted: 1, returned: 1, unexpected: 0 });
  expect(job?.load.has('return')).toBe(false);
  expect(job?.states?.get('m1')).toBe('returned');
});

test('a return without a job gets one after a while, which the publication replaces', async () => {
  await clear();
  const jid = '20261120150000000001';
  await cache.saveReturns([returnRow(jid, 'm1', true, { seq: 5 }), returnRow(jid, 'm2', true)]);
  expect(await cache.adoptOrphans(60_000)).toBe(0);
  expect(await cache.adoptOrphans(0)).toBe(1);
  expect(await cache.getJob(jid)).toMatchObject({
    origin: 'return',
    minions: ['m2'],
    ledger: { targeted: 2, returned: 2, unexpected: 1 },
  });
  expect(await cache.adoptOrphans(0)).toBe(0);
  await cache.saveJobs([jobRow(jid)]);
  const job = await cache.getJob(jid);
  expect(job).toMatchObject({ origin: 'publication', minions: ['m1', 'm2', 'm3'] });
});
