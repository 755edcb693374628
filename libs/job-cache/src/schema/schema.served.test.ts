import type { TestPostgres } from '@brine/testing';
import { endPool, jobRow, returnRow, startPostgres } from '@brine/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobCache } from '../job-cache.ts';
import { migrate, readMigrations } from './migrate.ts';

let server: TestPostgres;

beforeAll(async () => {
  server = await startPostgres();
});

afterAll(async () => {
  await server.stop();
});

let databases = 0;

/** A pool on an empty database. */
async function emptyDatabase(): Promise<{ url: string; pool: pg.Pool } & AsyncDisposable> {
  const name = `test_${(databases += 1)}`;
  const admin = new pg.Client({ connectionString: server.superuserUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name} OWNER brine_services`);
  await admin.end();
  const url = server.url.replace(/\/brine$/, `/${name}`);
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  return { url, pool, [Symbol.asyncDispose]: () => endPool(pool) };
}

/** The schema as text, one object a line: what a migration changes shows in review. */
const DESCRIBE = `
SELECT line FROM (
  SELECT format('%s.%s column %s: %s%s%s', table_schema, table_name, column_name,
    data_type || CASE collation_name WHEN 'C' THEN ' COLLATE C' ELSE '' END,
    CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END,
    coalesce(' default ' || column_default, '')) AS line
  FROM information_schema.columns WHERE table_schema IN ('brine', 'public')
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname IN ('brine', 'public')
  UNION ALL SELECT format('%s.%s view: %s', schemaname, viewname,
    regexp_replace(definition, '\\s+', ' ', 'g'))
  FROM pg_views WHERE schemaname IN ('brine', 'public')
  UNION ALL SELECT DISTINCT format('%s.%s trigger %s: %s %s %s', event_object_schema,
    event_object_table, trigger_name, action_timing, event_manipulation, action_statement)
  FROM information_schema.triggers
  UNION ALL SELECT format('%s function(%s): %s', p.oid::regproc, pg_get_function_arguments(p.oid),
    pg_get_function_result(p.oid))
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'brine'
  UNION ALL SELECT format('%s partitioned by %s', partrelid::regclass, pg_get_partkeydef(partrelid))
  FROM pg_partitioned_table
) AS described ORDER BY line COLLATE "C"`;

test('the schema is the one that is written down', async () => {
  await using db = await emptyDatabase();
  await migrate(db.pool);
  const rows = (await db.pool.query<{ line: string }>(DESCRIBE)).rows;
  const text = rows.map(({ line }) => `${line}\n`).join('');
  await expect(text).toMatchFileSnapshot('../../sql/schema.txt');
});

test('several migrators at once apply each migration once', async () => {
  await using db = await emptyDatabase();
  const known = (await readMigrations()).length;
  const results = await Promise.all(Array.from({ length: 4 }, () => migrate(db.pool)));
  expect(results).toEqual([known, known, known, known]);
  const rows = await db.pool.query('SELECT FROM brine.migrations');
  expect(rows.rowCount).toBe(known);
});

test('a schema of a newer release is refused', async () => {
  await using db = await emptyDatabase();
  await migrate(db.pool);
  await db.pool.query("INSERT INTO brine.migrations (number, sha256) VALUES (999, 'x')");
  await expect(JobCache.connect(db.url)).rejects.toMatchObject({
    code: 'SALT_JOBCACHE_SCHEMA_NEWER',
    retryable: false,
    message: expect.stringContaining('a newer Brine has used this database') as string,
  });
});

test('a migration that was edited after it was applied is refused', async () => {
  await using db = await emptyDatabase();
  await migrate(db.pool);
  await db.pool.query("UPDATE brine.migrations SET sha256 = 'other' WHERE number = 1");
  await expect(migrate(db.pool)).rejects.toMatchObject({ code: 'SALT_JOBCACHE_SCHEMA_CHANGED' });
});

test('a migration that fails leaves nothing behind', async () => {
  await using db = await emptyDatabase();
  const bad = { number: 1, text: 'CREATE TABLE brine.half (); SELECT 1/0', sha256: 'x' };
  await expect(migrate(db.pool, [bad])).rejects.toMatchObject({ code: 'SALT_JOBCACHE_MIGRATION' });
  const found = await db.pool.query("SELECT to_regclass('brine.half') AS half");
  expect(found.rows).toEqual([{ half: null }]);
  expect((await db.pool.query('SELECT FROM brine.migrations')).rowCount).toBe(0);
});

test("a database with a stock returner's tables is refused with what to do", async () => {
  await using db = await emptyDatabase();
  await db.pool.query('CREATE TABLE jids (jid varchar(255) PRIMARY KEY, load jsonb)');
  await expect(migrate(db.pool)).rejects.toMatchObject({
    code: 'SALT_JOBCACHE_MIGRATION',
    message: expect.stringContaining('give Brine a database of its own') as string,
  });
});

test('an unreachable server is a retryable condition', async () => {
  await expect(JobCache.connect('postgres://x:y@127.0.0.1:1/z')).rejects.toMatchObject({
    code: 'SALT_JOBCACHE_AWAY',
    retryable: true,
  });
});

test('a partition takes over rows that went to the default one before', async () => {
  await using db = await emptyDatabase();
  await migrate(db.pool);
  const insert = "INSERT INTO jids (jid, load) VALUES ($1, '{}')";
  for (const jid of ['20301231235959999999', '20310101000000000000', 'odd']) {
    await db.pool.query(insert, [jid]);
  }
  const ensured = await db.pool.query("SELECT brine.ensure_day('20301231') AS made");
  expect(ensured.rows).toEqual([{ made: true }]);
  const rows = await db.pool.query<{ jid: string; part: string }>(
    'SELECT jid, tableoid::regclass::text AS part FROM brine.jobs ORDER BY jid',
  );
  expect(rows.rows.map((row) => row.part.replace('brine.', ''))).toEqual([
    'jobs_20301231',
    'jobs_default',
    'jobs_default',
  ]);
});

test('days near today get partitions, other jids go to the default one', async () => {
  await using db = await emptyDatabase();
  const now = Date.UTC(2026, 10, 20, 12);
  const cache = await JobCache.connect(db.url, { now: () => now });
  const jids = ['20261116000000000001', '20991231000000000001', '20261199000000000001', 'odd'];
  await cache.saveJobs(jids.map((jid) => jobRow(jid)));
  const rows = await db.pool.query<{ part: string }>(
    'SELECT tableoid::regclass::text AS part FROM brine.jobs ORDER BY jid',
  );
  expect(rows.rows.map((row) => row.part.replace('brine.', ''))).toEqual([
    'jobs_20261116',
    'jobs_default',
    'jobs_default',
    'jobs_default',
  ]);
  await cache.close();
});

test('jobs that are older than asked are forgotten by whole days', async () => {
  await using db = await emptyDatabase();
  const day = 86_400_000;
  const now = Date.UTC(2026, 10, 20, 12);
  const cache = await JobCache.connect(db.url, { now: () => now });
  const old = jobRow('20261116100000000001', { publishedAt: now - 4 * day });
  const fresh = jobRow('20261120100000000001', { publishedAt: now });
  const odd = jobRow('odd', { publishedAt: now - 4 * day });
  await cache.saveJobs([old, fresh, odd]);
  expect(await cache.dropOlderThan(now - 2 * day)).toBe(6);
  expect([...(await cache.listJobs()).jobs.keys()]).toEqual([fresh.jid]);
  // The day is made again when a row needs it.
  await cache.saveJobs([old]);
  expect(await cache.getLoad(old.jid)).toBeDefined();
  await cache.close();
});

test('jobs of before the upgrade show their ledger, and a process of before still counts', async () => {
  await using db = await emptyDatabase();
  await migrate(db.pool, await readMigrations());
  const [old, early, next] = [1, 2, 3].map((n) => `2026112011000000000${n}`) as [
    string,
    string,
    string,
  ];
  const insertJob = `INSERT INTO brine.jobs (jid, load, minions, deadline_at, origin)
      VALUES ($1, '{}', '{m1,m2,m3}', now() + interval '1 hour', 0)`;
  // As the release before does it: its statement neither counts nor judges.
  const insertReturn = `INSERT INTO brine.returns AS known (jid, id, fun, failed, full_ret,
        received_at, incarnation, seq, content)
      VALUES ($1, $2, 'test.ping', $3, '{}', now(), 'i', 1, md5('x')::uuid)
      ON CONFLICT (jid, id) DO UPDATE SET failed = excluded.failed
      WHERE known.incarnation = '~pgjsonb'`;
  await db.pool.query(insertJob, [old]);
  await db.pool.query(insertReturn, [old, 'm1', true]);
  await db.pool.query(insertReturn, [early, 'm1', false]);
  await db.pool.query('INSERT INTO brine.orphans (jid) VALUES ($1)', [early]);
  const upgraded = await JobCache.connect(db.url);
  await db.pool.query(insertJob, [early]);
  await db.pool.query(insertJob, [next]);
  await db.pool.query(insertReturn, [old, 'm2', false]);
  await db.pool.query(insertReturn, [next, 'm1', false]);
  await db.pool.query(insertReturn, [next, 'stranger', true]);
  await upgraded.saveReturns([
    returnRow(old, 'm3', 1),
    returnRow(early, 'm2', 1),
    returnRow(next, 'm2', 1),
  ]);
  const counts = await upgraded.counts([old, early, next]);
  expect(counts.get(old)).toMatchObject({ targeted: 3, returned: 2, failed: 1, waiting: 0 });
  expect(counts.get(early)).toMatchObject({ targeted: 3, returned: 2, waiting: 1 });
  const both = { targeted: 4, returned: 2, failed: 1, waiting: 1, unexpected: 1 };
  expect(counts.get(next)).toMatchObject(both);
  await upgraded.adoptOrphans(0);
  expect((await upgraded.counts([next])).get(next)).toMatchObject(both);
  await upgraded.close();
});

test('rows of pgjsonb are taken, and it reads ours', async () => {
  await using db = await emptyDatabase();
  const cache = await JobCache.connect(db.url);
  const upsert = `INSERT INTO jids (jid, load) VALUES ($1, $2)
    ON CONFLICT (jid) DO UPDATE SET load=$2`;
  const load = { fun: ['test.ping'], tgt: 'm*', tgt_type: 'glob', user: 'ann', arg: [1] };
  await db.pool.query(upsert, ['20261120100000000001', JSON.stringify({ ...load, arg: [] })]);
  await db.pool.query(upsert, ['20261120100000000001', JSON.stringify(load)]);
  const insert = `INSERT INTO salt_returns (fun, jid, return, id, success, full_ret, alter_time)
    VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7))`;
  const ret = { fun: 'test.ping', jid: '20261120100000000001', return: { a: 'é' }, retcode: 1 };
  const values = [
    ret.fun,
    ret.jid,
    JSON.stringify(ret.return),
    'm9',
    true,
    JSON.stringify(ret),
    1e9,
  ];
  await db.pool.query(insert, values);
  await db.pool.query(insert, values);

  const job = await cache.getJob(ret.jid);
  expect(job).toMatchObject({ origin: 'pgjsonb', fun: ['test.ping'], tgt: ['m*'], user: 'ann' });
  expect(job?.load.get('arg')).toEqual([1]);
  expect((await cache.getJid(ret.jid)).returns.get('m9')?.get('retcode')).toBe(1);

  const ours = '20261120100000000002';
  await cache.saveJobs([jobRow(ours)]);
  await cache.saveReturns([returnRow(ours, 'm1', true)]);
  const jids = await db.pool.query('SELECT load FROM jids WHERE jid = $1', [ours]);
  expect(jids.rows).toMatchObject([{ load: { fun: 'test.ping', tgt: '*' } }]);
  const rows = await db.pool.query(
    'SELECT id, full_ret, success FROM salt_returns WHERE jid = $1',
    [ours],
  );
  expect(rows.rows).toMatchObject([{ id: 'm1', success: 'true', full_ret: { return: true } }]);
  // A published row stays as it was published.
  await db.pool.query(upsert, [ours, JSON.stringify(load)]);
  expect((await cache.getLoad(ours))?.get('user')).toBe('root');

  // The purge of pgjsonb (clean_old_jobs).
  await db.pool.query(
    `DELETE FROM jids WHERE jid IN (
      SELECT DISTINCT jid FROM salt_returns WHERE alter_time < now())`,
  );
  await db.pool.query('DELETE FROM salt_returns WHERE alter_time < now()');
  await db.pool.query(
    "INSERT INTO salt_events (tag, data, master_id) VALUES ('a/b', '{}', 'master')",
  );
  expect((await db.pool.query('SELECT FROM salt_events')).rowCount).toBe(1);
  await cache.close();
});
