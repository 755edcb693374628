import type { TestPostgres } from '@brine/testing';
import { endPool, jobRow, returnRow, startPostgres } from '@brine/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobCache } from '../job-cache.ts';
import { grantRoles } from './roles.ts';

/* The rights of each role of PostgreSQL, and the limits of a thief of its password. */

const DAY_MS = 86_400_000;
const PASSWORD = 'of-a-test';

let server: TestPostgres;
let owner: pg.Pool;
const pools: pg.Pool[] = [];
beforeAll(async () => {
  server = await startPostgres();
  owner = new pg.Pool({ connectionString: server.url, max: 2 });
  await grantRoles(server.url);
  const superuser = new pg.Client({ connectionString: server.superuserUrl });
  await superuser.connect();
  for (const role of ['store', 'returner', 'reader']) {
    await superuser.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}' IN ROLE brine_${role}`);
  }
  await superuser.end();
}, 180_000);
afterAll(async () => {
  await Promise.all([owner, ...pools].map((pool) => endPool(pool)));
  await server.stop();
});

function urlOf(role: string, database = 'brine'): string {
  const url = new URL(server.url);
  url.username = role;
  url.password = PASSWORD;
  url.pathname = `/${database}`;
  return url.href;
}

function as(role: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: urlOf(role), max: 1 });
  pools.push(pool);
  return pool;
}

const jidOf = (ms: number): string =>
  `${new Date(ms).toISOString().replaceAll(/\D/g, '').slice(0, 17)}000`;

test('the store does all its work without owning a table', async () => {
  const cache = await JobCache.connect(urlOf('store'));
  try {
    const [old, jid] = [jidOf(Date.now() - 3 * DAY_MS), jidOf(Date.now())];
    expect(await cache.saveJobs([jobRow(old), jobRow(jid), jobRow('odd')])).toMatchObject({
      refused: [],
    });
    const rows = [returnRow(old, 'm1', 1), returnRow(jid, 'm1', 1), returnRow('odd', 'm1', 1)];
    expect(await cache.saveReturns([...rows, returnRow(jid, 'm1', 'other')])).toMatchObject({
      refused: [],
    });
    await cache.saveReturns([returnRow('unborn', 'm2', 1)]);
    await cache.saveSightings([{ jid, ids: ['m2'], kind: 'refused', at: Date.now() }]);
    await cache.saveLogIns([{ id: 'm1', at: Date.now() }]);
    const away = { incarnation: 'i', seq: 1, kind: 'return', jid, id: 'm1' } as const;
    await cache.quarantine({ ...away, raw: Buffer.of(1) }, new Error('x'));
    expect(await cache.adoptOrphans(0)).toBeGreaterThanOrEqual(0);
    await cache.ensurePartitions();
    expect(await cache.getJob(jid)).toMatchObject({ jid });
    expect((await cache.listJobs()).jobs.size).toBeGreaterThan(1);
    await cache.archiveOlderThan(Date.now() - 2 * DAY_MS);
    expect(await cache.getJob(old)).toBeUndefined();
    const kept = await owner.query('SELECT FROM brine_archive.jobs WHERE jid = $1', [old]);
    expect(kept.rowCount).toBe(1);
    expect(await cache.dropOlderThan(Date.now() + 2 * DAY_MS)).toBeGreaterThan(0);
    expect(await cache.getJob(jid)).toBeUndefined();
  } finally {
    await cache.close();
  }
});

const WRITE_NEVER = [
  'CREATE TABLE brine.mine (a int)',
  'CREATE TABLE public.mine (a int)',
  'DROP TABLE brine.returns',
  'ALTER TABLE brine.jobs ADD COLUMN a int',
  'TRUNCATE brine.jobs',
  'CREATE ROLE mine SUPERUSER',
  'GRANT brine_store TO reader',
  'SET ROLE pg_write_all_data',
  "INSERT INTO brine.migrations (number, sha256) VALUES (9999, 'x')",
  'UPDATE brine.audit SET body = body',
  'DELETE FROM brine.audit',
  'DELETE FROM brine_archive.jobs',
  `CREATE OR REPLACE FUNCTION brine.drop_days(before_day text) RETURNS int LANGUAGE sql
   AS $$ SELECT 1 $$`,
  "COPY brine.jobs TO PROGRAM 'true'",
  "SELECT pg_read_file('/etc/passwd')",
  'SELECT rolpassword FROM pg_authid',
];

const STORE_ONLY = [
  'DELETE FROM brine.returns',
  "UPDATE brine.jobs SET principal = 'root'",
  `INSERT INTO brine.audit (writer, n, at, body, before, seal)
   VALUES ('w', 1, now(), '{}', '', '')`,
  "SELECT brine.drop_days('99999999')",
  "SELECT brine.archive_days('99999999')",
  "SELECT brine.ensure_day('20300101')",
  'SELECT brine.attach_archived()',
  'DELETE FROM public.salt_events',
  'SELECT FROM brine.audit',
  'SELECT FROM brine.durable',
  'SELECT FROM brine.queue_items',
];

const LOOK_ONLY = [
  'SELECT FROM brine.jobs',
  'SELECT FROM brine.ledger',
  'SELECT FROM brine.sightings',
  'SELECT FROM brine.counters',
  'SELECT FROM public.salt_returns',
  'SELECT FROM public.salt_events',
];

const RETURN_ONLY = [
  `INSERT INTO public.salt_returns (fun, jid, return, id, success, full_ret)
   VALUES ('a.b', '20261120100000000001', '1', 'm', 'true', '{}')`,
  `INSERT INTO public.salt_events (tag, data, master_id) VALUES ('t', '{}', 'm')`,
  `INSERT INTO public.jids (jid, load) VALUES ('20261120100000000001', '{"fun": "a.b"}')
   ON CONFLICT (jid) DO UPDATE SET load = '{"fun": "a.b"}'`,
];

test.each([
  ['store', WRITE_NEVER],
  ['returner', [...WRITE_NEVER, ...STORE_ONLY, ...LOOK_ONLY, 'DELETE FROM public.salt_returns']],
  ['reader', [...WRITE_NEVER, ...STORE_ONLY, ...RETURN_ONLY]],
])('%s is refused what it does not need', async (role, statements) => {
  const pool = as(role);
  for (const text of statements) {
    await expect(pool.query(text), text).rejects.toMatchObject({ code: '42501' });
  }
});

test.each([
  ['returner', RETURN_ONLY],
  ['reader', LOOK_ONLY],
])('%s may do what it is there for', async (role, statements) => {
  const pool = as(role);
  for (const text of statements) await expect(pool.query(text), text).resolves.toBeDefined();
});

test('a function that runs as the owner takes nothing from its caller', async () => {
  const pool = as('store');
  // Tables of a session's own come first in a search path that does not say otherwise.
  await pool.query('CREATE TEMP TABLE pg_class AS SELECT * FROM pg_catalog.pg_class WHERE false');
  await pool.query(`CREATE FUNCTION pg_temp.hashtext(text) RETURNS int LANGUAGE sql AS
    $$ SELECT 1 / 0 $$`);
  await expect(pool.query("SELECT brine.ensure_day('20300102')")).resolves.toBeDefined();
  await expect(
    pool.query('SELECT brine.ensure_day($1)', ['x; DROP TABLE brine.jobs']),
  ).rejects.toThrow();
  expect((await owner.query('SELECT FROM brine.jobs')).rowCount).toBeDefined();
});

test('rights are given again as often as wanted, and taken where they were too many', async () => {
  await owner.query('GRANT ALL ON brine.audit TO brine_store, brine_reader');
  await grantRoles(server.url);
  await expect(as('store').query('DELETE FROM brine.audit')).rejects.toThrow(/permission denied/);
  await expect(as('reader').query('SELECT FROM brine.audit')).rejects.toThrow(/permission denied/);
});

test('a store that finds an older schema names the command that renews it', async () => {
  const { rows } = await owner.query<{ number: number; sha256: string }>(
    `DELETE FROM brine.migrations
     WHERE number = (SELECT max(number) FROM brine.migrations) RETURNING *`,
  );
  await expect(JobCache.connect(urlOf('store'))).rejects.toMatchObject({
    code: 'SALT_JOBCACHE_MIGRATION',
    message: expect.stringContaining('brine postgres roles'),
  });
  const [last] = rows;
  await owner.query('INSERT INTO brine.migrations (number, sha256) VALUES ($1, $2)', [
    last!.number,
    last!.sha256,
  ]);
});
