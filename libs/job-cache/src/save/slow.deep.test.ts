import type { TestPostgres } from '@brine/testing';
import { endPool, jobRow, returnRow, startPostgres } from '@brine/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '../connection/query.ts';
import { JobCache } from '../job-cache.ts';
import { SlowRows } from './batch.ts';

let server: TestPostgres;
let pool: pg.Pool;

beforeAll(async () => {
  server = await startPostgres();
  pool = new pg.Pool({ connectionString: server.url, max: 2 });
});

afterAll(async () => {
  await endPool(pool);
  await server.stop();
});

const JID = '20261120100000000001';

async function storedIds(): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM brine.returns WHERE jid = $1 ORDER BY id',
    [JID],
  );
  return rows.map(({ id }) => id);
}

test('a return that is too slow alone delays no other and is quarantined in the end', async () => {
  const cache = await JobCache.connect(server.url, { statementMs: 3_000 });
  try {
    await cache.saveJobs([jobRow(JID, { minions: ['slow', 'm0'] })]);
    await pool.query(`CREATE FUNCTION pg_temp_slow() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$`);
    await pool.query(`CREATE TRIGGER is_slow BEFORE INSERT ON brine.returns FOR EACH ROW
      WHEN (NEW.id = 'slow') EXECUTE FUNCTION pg_temp_slow()`);
    const others = Array.from({ length: 9 }, (_, n) => `m${n}`);
    const rows = [...others, 'slow'].map((id, seq) => returnRow(JID, id, `of ${id}`, { seq }));
    const slow = rows.at(-1)!;
    // Its first try alone; the others are stored although the whole is to be given again.
    await expect(cache.saveReturns(rows)).rejects.toMatchObject({ retryable: true });
    expect(await storedIds()).toEqual(others);
    await expect(cache.saveReturns(rows)).rejects.toMatchObject({ retryable: true });
    expect(await cache.saveReturns(rows)).toMatchObject({
      stored: 0,
      known: 9,
      refused: [{ kind: 'return', jid: JID, id: 'slow', state: '57014' }],
    });
    const { rows: kept } = await pool.query<{ raw: Buffer }>(
      `SELECT raw FROM brine.quarantine WHERE kind = 'return' AND id = 'slow'`,
    );
    expect(kept).toEqual([{ raw: Buffer.from(slow.load) }]);
    const silent = await cache.silentMinions(JID, { ids: ['slow'] });
    expect(silent?.minions[0]?.sightings.get('refused')).toMatchObject({ reason: 'quarantine' });
    // Its next delivery is judged again, and stored once it can be.
    await pool.query('DROP TRIGGER is_slow ON brine.returns');
    expect(await cache.saveReturns([slow])).toMatchObject({ stored: 1, refused: [] });
  } finally {
    await cache.close();
  }
});

test('a row that waits for a lock is no slow row', async () => {
  const cache = await JobCache.connect(server.url, { statementMs: 2_000 });
  const holder = await pool.connect();
  try {
    await holder.query('BEGIN; LOCK TABLE brine.returns IN ACCESS EXCLUSIVE MODE');
    const row = returnRow(JID, 'locked', true, { seq: 50 });
    for (let attempt = 0; attempt < 4; attempt += 1) {
      const error: unknown = await cache.saveReturns([row]).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ retryable: true, sqlState: '55P03' });
    }
    await holder.query('ROLLBACK');
    expect(await cache.saveReturns([row])).toMatchObject({ stored: 1, refused: [] });
  } finally {
    holder.release();
    await cache.close();
  }
});

test('questions that hang delay no return; those without a connection fail as busy', async () => {
  const cache = await JobCache.connect(server.url);
  const holder = await pool.connect();
  try {
    await cache.saveJobs([jobRow(JID, { minions: ['m1'] })]);
    // Facts about silent minions are read from here; storing a return does not need it.
    await holder.query('BEGIN; LOCK TABLE brine.sightings IN ACCESS EXCLUSIVE MODE');
    const hanging = Array.from({ length: 12 }, () =>
      cache.silentMinions(JID).catch((error: unknown) => error),
    );
    await expect.poll(() => cache.connections.waiting).toBeGreaterThan(0);
    const rows = Array.from({ length: 5 }, (_, n) =>
      returnRow(JID, `q${n}`, true, { seq: 60 + n }),
    );
    expect(await Promise.all(rows.map((row) => cache.saveReturns([row])))).toHaveLength(5);
    expect(cache.connections.waiting).toBeGreaterThan(0);
    // The pool gives up for those that got no connection, while others still hang.
    const answers = await Promise.race(hanging.toReversed());
    expect(answers).toMatchObject({ retryable: true, message: expect.stringMatching('busy') });
    await holder.query('ROLLBACK');
    const all = await Promise.all(hanging);
    // How many still waited for a connection that came free is the machine's to say.
    const [told = [], answered = []] = [true, false].map((error) =>
      all.filter((one) => one instanceof Error === error),
    );
    expect(answered.length).toBeGreaterThan(0);
    for (const one of told) expect(one).toMatchObject({ retryable: true });
  } finally {
    holder.release();
    await cache.close();
  }
});

test('a question that takes too long fails as slow, and is not to be asked again', async () => {
  const reads = new pg.Pool({ connectionString: server.url, max: 1, statement_timeout: 200 });
  try {
    await expect(select(reads, 'SELECT pg_sleep(60)', [])).rejects.toMatchObject({
      code: 'SALT_JOBCACHE_SLOW',
      retryable: false,
      message: 'the question took PostgreSQL too long; ask for less',
    });
  } finally {
    await endPool(reads);
  }
});

test('a row is guilty after three tries while others were written, and unsure otherwise', () => {
  const slow = new SlowRows();
  expect([slow.judge('a'), slow.judge('a'), slow.judge('a')]).toEqual(['again', 'again', 'unsure']);
  slow.wrote();
  expect(slow.judge('a')).toBe('guilty');
  slow.forget('a');
  expect(slow.judge('a')).toBe('again');
});

test('a streak of slow statements is everything, one in time ends it', () => {
  const slow = new SlowRows();
  const streak = (): boolean[] => Array.from({ length: 6 }, () => slow.isEverythingSlow());
  expect(streak()).toEqual([false, false, false, false, false, true]);
  slow.wrote();
  expect(streak().indexOf(true)).toBe(5);
});

test('slow rows are remembered up to a bound', () => {
  const slow = new SlowRows();
  for (let n = 0; n < 1_000; n += 1) slow.judge(`row ${n}`);
  slow.judge('one more');
  expect(slow.has('one more')).toBe(false);
  slow.forget('row 0');
  slow.judge('one more');
  expect(slow.has('one more')).toBe(true);
});
