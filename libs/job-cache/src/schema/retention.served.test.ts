import { jobRow, returnRow } from '@brine/testing';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';

const NOW = Date.UTC(2026, 10, 22, 12);
const DAY = 86_400_000;
const OLD = '20261117100000000001';
const FRESH = '20261122100000000001';

const { cache, pool } = await jobCacheScene({ now: () => NOW });

async function jids(table: string): Promise<string[]> {
  const { rows } = await pool.query<{ jid: string }>(`SELECT jid FROM ${table} ORDER BY jid`);
  return rows.map(({ jid }) => jid);
}

test('archived days are read with the same queries, and nothing is lost', async () => {
  const publishedAt = NOW - 5 * DAY;
  const odd = jobRow('odd', { publishedAt });
  await cache.saveJobs([jobRow(OLD), jobRow(FRESH, { publishedAt: NOW }), odd]);
  await cache.saveReturns([
    returnRow(OLD, 'm1', 'first', { seq: 1 }),
    returnRow(OLD, 'm1', 'other', { seq: 2 }),
  ]);
  await cache.saveSightings([{ jid: OLD, ids: ['m2'], kind: 'running', at: publishedAt }]);
  await pool.query(`INSERT INTO salt_events (tag, data, master_id, alter_time)
    VALUES ('old', '{}', 'm', '2026-11-01'), ('new', '{}', 'm', '2026-11-22')`);
  expect(await cache.archiveOlderThan(NOW - 2 * DAY)).toBe(6);
  expect(await jids('brine.jobs')).toEqual([FRESH]);
  expect(await jids('brine.returns')).toEqual([]);
  expect(await jids('brine_archive.jobs')).toEqual([OLD, 'odd']);
  for (const table of ['returns', 'evidence', 'sightings', 'job_counts'])
    expect(await jids(`brine_archive.${table}`), table).toEqual([OLD]);
  const events = await pool.query('SELECT tag FROM brine_archive.salt_events');
  expect(events.rows).toEqual([{ tag: 'old' }]);
  const plan = await pool.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN SELECT FROM brine_archive.returns WHERE jid = '${OLD}' AND id = 'm1'`,
  );
  expect(plan.rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('returns_20261117');
  expect(await cache.archiveOlderThan(NOW - 2 * DAY)).toBe(0);
});

test('a day that got rows again is archived once more', async () => {
  const late = '20261117100000000002';
  await cache.saveJobs([jobRow(OLD, { user: 'another' }), jobRow(late)]);
  expect(await jids('brine.jobs')).toEqual([OLD, late, FRESH]);
  expect(await cache.archiveOlderThan(NOW - 2 * DAY)).toBe(6);
  expect(await jids('brine_archive.jobs')).toEqual([OLD, late, 'odd']);
  const kept = await pool.query('SELECT "user" FROM brine_archive.jobs WHERE jid = $1', [OLD]);
  expect(kept.rows).toEqual([{ user: 'root' }]);
});

test('a day that a death left between the two steps is attached the next time', async () => {
  const jid = '20261118100000000001';
  await cache.saveJobs([jobRow(jid)]);
  await pool.query("SELECT brine.archive_days('20261120')");
  expect(await jids('brine_archive.jobs')).not.toContain(jid);
  expect(await cache.archiveOlderThan(NOW - 2 * DAY)).toBe(0);
  expect(await jids('brine_archive.jobs')).toContain(jid);
});

test('the tables of the archive have the columns of those they are for', async () => {
  const { rows } = await pool.query<{ table_name: string; schemas: number; same: boolean }>(
    `SELECT table_name, count(*)::integer AS schemas,
       count(DISTINCT columns) = 1 AS same
     FROM (
       SELECT table_schema, table_name,
         array_agg(column_name || ' ' || data_type || ' ' || is_nullable
           ORDER BY ordinal_position) AS columns
       FROM information_schema.columns
       WHERE table_schema IN ('brine', 'brine_archive')
         AND table_name IN ('jobs', 'returns', 'evidence', 'sightings', 'job_counts', 'doubts')
       GROUP BY 1, 2
     ) AS described GROUP BY table_name`,
  );
  expect(rows.map(({ schemas, same }) => [schemas, same])).toEqual(Array(6).fill([2, true]));
});

test('log-ins are kept a month, rows in quarantine until an operator drops them', async () => {
  const refusal = { kind: 'seen', jid: '', id: '', incarnation: 'i', seq: 1 } as const;
  await cache.quarantine({ ...refusal, raw: Buffer.from('x') }, new Error('odd'));
  await pool.query(`UPDATE brine.quarantine SET at = now() - interval '400 days'`);
  await cache.saveLogIns([
    { id: 'gone', at: Date.now() - 40 * DAY },
    { id: 'here', at: Date.now() - 40 * DAY },
    { id: 'here', at: Date.now() - DAY },
  ]);
  await cache.dropOlderThan(NOW - 2 * DAY);
  const { rows } = await pool.query('SELECT id FROM brine.log_ins');
  expect(rows).toEqual([{ id: 'here' }]);
  expect(await cache.quarantined.list({}, 10)).toMatchObject({ total: 1 });
  expect(await cache.quarantined.drop({ kind: 'seen' })).toBe(1);
});
