/**
 * What history costs: a page of list_jobs over many jobs, with its counts, and a job with many
 * targets: its bytes and the time of its counts.
 * Times are the median of several; the CPU is that of this process and of PostgreSQL's for it, for
 * busy machines. PostgreSQL is one of its own, unless DATABASE_URL names another of this machine
 * (an empty one: it is filled and left so).
 * Run: npx tsx --conditions=source libs/job-cache/bench/history.ts [jobs] [targets] [jobs a day]
 */
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@brine/postgres-server';
import { mapOf, pack } from '@brine/wire';
import pg from 'pg';
import { JobCache } from '../src/job-cache.ts';
import type { ListJobsOptions } from '../src/read/list-jobs.ts';
import type { JobRow, ReturnRow } from '../src/save/rows.ts';

const JOBS = Number(process.argv[2] ?? 1_000_000);
const TARGETS = Number(process.argv[3] ?? 100_000);
const JOBS_A_DAY = Number(process.argv[4] ?? 100_000);
const RUNS = 11;
const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 0, 1);

const LOAD = pack(
  mapOf({
    cmd: 'publish',
    fun: 'test.ping',
    arg: [],
    tgt: 'web*',
    tgt_type: 'glob',
    ret: '',
    user: 'root',
    kwargs: mapOf({ delimiter: ':', show_timeout: true, show_jid: false }),
  }),
);

/**
 * $1: midnight of the day, $2: its jobs, $3: the load. One in a thousand runs states. What is the
 * same in all rows is made once: most of the time of 10 million would be its making.
 */
const FILL = (table: string): string => `
INSERT INTO ${table} (jid, load, load_raw, principal, "user", fun, tgt, minions, published_at,
  deadline_at, deadline_after, origin, host, request_id, incarnation, seq, targeted)
SELECT $4 || to_char(interval '1 second' * (n * 86400.0 / $2::float8), 'HH24MISSUS'),
  '{"fun": "test.ping", "tgt": "web*", "tgt_type": "glob", "user": "root"}'::jsonb, $3, 'root',
  'root', CASE WHEN n % 1000 = 0 THEN '{state.apply}'::text[] ELSE '{test.ping}' END,
  ARRAY['web' || n % 1000 || '*'], '{m1,m2,m3}', to_timestamp($1::float8),
  to_timestamp($1::float8 + 3600), '1 hour', 0, 'host', 'a request of 32 characters, or so',
  '2026-01-01T00:00:00Z', n, 3
FROM generate_series(0, $2::integer - 1) AS n`;

/** Days are filled before they are partitions: without WAL, and with the index made at once. */
async function fill(pool: pg.Pool): Promise<void> {
  const start = performance.now();
  for (let day = 0; day * JOBS_A_DAY < JOBS; day += 1) {
    const ms = FIRST_DAY + day * DAY_MS;
    const [name, next] = [dayOf(ms), dayOf(ms + DAY_MS)];
    const jobs = Math.min(JOBS_A_DAY, JOBS - day * JOBS_A_DAY);
    const table = `brine.jobs_${name}`;
    await pool.query(`CREATE UNLOGGED TABLE ${table}
      (LIKE brine.jobs INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`);
    await pool.query(FILL(table), [ms / 1000, jobs, LOAD, name]);
    await pool.query(`ALTER TABLE ${table} ADD PRIMARY KEY (jid)`);
    await pool.query(`ALTER TABLE brine.jobs ATTACH PARTITION ${table}
      FOR VALUES FROM ('${name}') TO ('${next}')`);
    await pool.query(`VACUUM ANALYZE ${table}`);
    await fillCounts(pool, name, next);
  }
  console.log(`${JOBS} jobs made in ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

/** All of a job have returned, to two connections. */
async function fillCounts(pool: pg.Pool, name: string, next: string): Promise<void> {
  const table = `brine.job_counts_${name}`;
  await pool.query(`CREATE UNLOGGED TABLE ${table} (LIKE brine.job_counts INCLUDING ALL)
    WITH (fillfactor = 50)`);
  await pool.query(`INSERT INTO ${table} SELECT jid, lane, 2 - lane, 0, published_at
    FROM brine.jobs_${name}, generate_series(0, 1) AS lane`);
  await pool.query(`ALTER TABLE brine.job_counts ATTACH PARTITION ${table}
    FOR VALUES FROM ('${name}') TO ('${next}')`);
  await pool.query(`VACUUM ANALYZE ${table}`);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
}

/** What this process and the connections of the job cache have used, in ms. */
async function cpuMs(pool: pg.Pool): Promise<number> {
  const { user, system } = process.cpuUsage();
  const { rows } = await pool.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'brine job-cache'`,
  );
  // Fields 14 and 15 are utime and stime, in ticks of 10 ms; the name before may hold blanks.
  const ticks = rows.map(({ pid }) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  });
  return (user + system) / 1000 + 10 * ticks.reduce((sum, one) => sum + one, 0);
}

async function timePages(cache: JobCache, pool: pg.Pool): Promise<void> {
  const days = Math.ceil(JOBS / JOBS_A_DAY);
  const middle = FIRST_DAY + Math.floor(days / 2) * DAY_MS + DAY_MS / 2;
  const before = new Date(middle).toISOString().replace(/\D/g, '') + '000';
  const cases: readonly (readonly [string, ListJobsOptions])[] = [
    ['the newest', {}],
    ['the oldest', { oldestFirst: true }],
    ['the middle, newest first', { before }],
    ['the middle, oldest first', { after: before, oldestFirst: true }],
    ['since a time', { startTime: middle, oldestFirst: true }],
    ['10,000 jobs', { before, limit: 10_000 }],
    ['function, all match', { before, searchFunction: ['test.*'] }],
    ['function, one of 1,000', { before, searchFunction: ['state.apply'] }],
    ['function, none', { before, searchFunction: ['cmd.run'] }],
    ['target, one of 1,000', { before, searchTarget: ['web77[*]'] }],
    ['metadata, none', { before, searchMetadata: mapOf({ ticket: 7 }) }],
    [
      'function since a time',
      { startTime: middle, oldestFirst: true, searchFunction: ['state.*'] },
    ],
    ['hidden left out', { before, leaveOutHidden: true }],
  ];
  for (const [name, options] of cases) {
    const times: number[] = [];
    let shown = (await cache.listJobs(options)).jobs.size;
    const cpu = await cpuMs(pool);
    for (let run = 0; run < RUNS; run += 1) {
      const start = performance.now();
      shown = (await cache.listJobs(options)).jobs.size;
      times.push(performance.now() - start);
    }
    const used = ((await cpuMs(pool)) - cpu) / RUNS;
    const median = times.sort((a, b) => a - b)[Math.floor(RUNS / 2)];
    console.log(
      `page, ${name}: ${shown} jobs, ${median?.toFixed(1)} ms, ${used.toFixed(1)} ms of CPU`,
    );
  }
}

function median(times: readonly number[]): string {
  return ([...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0).toFixed(1);
}

/** A page as a list of jobs draws it: 50 jobs, then their counts. */
async function timeCountedPages(cache: JobCache): Promise<void> {
  const days = Math.ceil(JOBS / JOBS_A_DAY);
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const ms = FIRST_DAY + Math.max(0.01, part * days) * DAY_MS;
    const before = new Date(ms).toISOString().replace(/\D/g, '') + '000';
    const [page, counts]: [number[], number[]] = [[], []];
    let shown = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const start = performance.now();
      const { jobs } = await cache.listJobs({ before, limit: 50 });
      const middle = performance.now();
      const ledgers = await cache.counts([...jobs.keys()]);
      counts.push(performance.now() - middle);
      page.push(performance.now() - start);
      shown = [...ledgers.values()].filter(({ returned }) => returned === 3).length;
    }
    const text = `${median(page)} ms, ${median(counts)} of it for counts`;
    console.log(`page of 50 with counts, before ${before.slice(0, 8)}: ${shown} jobs, ${text}`);
  }
}

/** A job with many targets: all in time, its end over, some returns late, some of strangers. */
async function timeLargeCounts(cache: JobCache, pool: pg.Pool, jid: string): Promise<void> {
  const time = async (name: string): Promise<void> => {
    const times: number[] = [];
    let shown = '';
    for (let run = 0; run < RUNS; run += 1) {
      const start = performance.now();
      const ledger = (await cache.counts([jid])).get(jid);
      times.push(performance.now() - start);
      shown = JSON.stringify(ledger);
    }
    console.log(`counts, ${name}: ${median(times)} ms, ${shown}`);
  };
  const end = (hours: number): Promise<unknown> =>
    pool.query(
      `UPDATE brine.jobs SET deadline_at = now() + $2 * interval '1 hour' WHERE jid = $1`,
      [jid, hours],
    );
  const deliver = async (part: number, name: string, receivedAt: number): Promise<void> => {
    const rows = Array.from({ length: TARGETS * part }, (_, n): ReturnRow => {
      const id = `${name}-${n}.example.org`;
      const load = mapOf({ id, jid, fun: 'test.ping', return: true, retcode: 0, success: true });
      return { jid, id, load: pack(load), receivedAt, incarnation: 'c', seq: n };
    });
    for (let at = 0; at < rows.length; at += 500) await cache.saveReturns(rows.slice(at, at + 500));
  };
  await deliver(0.5, 'minion', Date.now());
  await time('half returned, open');
  await end(-0.001);
  await time('half returned, closed');
  await end(1);
  await deliver(0.6, 'minion', Date.now() + 2 * DAY_MS);
  await time('a tenth late');
  await deliver(1, 'minion', Date.now() + 2 * DAY_MS);
  await time('half late');
  await pool.query('VACUUM brine.doubts');
  await time('half late, after a vacuum');
  await deliver(0.01, 'stranger', Date.now());
  await time('a hundredth unexpected');
}

async function weigh(cache: JobCache, pool: pg.Pool): Promise<void> {
  const now = Date.now();
  const day = dayOf(now);
  const minions = Array.from({ length: TARGETS }, (_, n) => `minion-${n}.example.org`);
  const bytes = async (table: string): Promise<number> => {
    const text = 'SELECT pg_total_relation_size($1::regclass)::float8 AS bytes';
    const { rows } = await pool.query<{ bytes: number }>(text, [`brine.${table}_${day}`]);
    return rows[0]?.bytes ?? 0;
  };
  const empty = await bytes('jobs');
  const jobs = Array.from({ length: 10 }, (_, n): JobRow => {
    const jid = `${day}00000000000${n}`;
    const place = { incarnation: 'b', seq: n, publishedAt: now, deadlineAt: now + 3_600_000 };
    const asked = { fun: 'test.ping', tgt: '*', tgtType: 'glob', minions, missing: [] };
    return { jid, load: LOAD, principal: 'root', user: 'root', ...asked, ...place };
  });
  await cache.saveJobs(jobs);
  const perJob = ((await bytes('jobs')) - empty) / jobs.length;
  console.log(`${TARGETS} targets, none returned: ${Math.round(perJob)} bytes`);
  const jid = jobs[0]?.jid ?? '';
  const rows = minions.map((id, seq): ReturnRow => {
    const load = mapOf({ id, jid, fun: 'test.ping', return: true, retcode: 0, success: true });
    return { jid, id, load: pack(load), receivedAt: now, incarnation: 'b', seq };
  });
  for (let at = 0; at < rows.length; at += 500) await cache.saveReturns(rows.slice(at, at + 500));
  const all = await bytes('returns');
  console.log(`all returned: ${Math.round(all)} bytes more, ${Math.round(all / TARGETS)} a return`);
  const start = performance.now();
  const job = await cache.getJob(jid);
  const ms = (performance.now() - start).toFixed(0);
  console.log(`its row with its ledger: ${JSON.stringify(job?.ledger)}, ${ms} ms`);
  await timeLargeCounts(cache, pool, jobs[1]?.jid ?? '');
}

const dir = await mkdtemp(join(tmpdir(), 'brine-bench-'));
await chmod(dir, 0o755);
const given = process.env['DATABASE_URL'];
const server = given === undefined ? await startPostgres({ dir }) : undefined;
const url = given ?? server?.url ?? '';
const cache = await JobCache.connect(url);
const pool = new pg.Pool({ connectionString: url, max: 1 });
try {
  await weigh(cache, pool);
  await fill(pool);
  await timeCountedPages(cache);
  await timePages(cache, pool);
} finally {
  await pool.end();
  await cache.close();
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
}
