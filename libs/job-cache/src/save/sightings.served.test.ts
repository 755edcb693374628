import { jobRow, returnLoad, returnRow } from '@brine/testing';
import type { SaltValue } from '@brine/wire';
import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import type { JobRow, ReturnRow } from './rows.ts';

const { cache, pool } = await jobCacheScene();

const SECOND = 1000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A time of the jids below: 2026-11-20 10:00:00 UTC. */
const TEN = Date.UTC(2026, 10, 20, 10);

function job(jid: string, given: Partial<JobRow> = {}): JobRow {
  return jobRow(jid, { publishedAt: TEN, deadlineAt: TEN + HOUR, ...given });
}

/** A minion's answer to find_job about a jid. */
function answer(
  asked: SaltValue,
  id: string,
  value: SaltValue,
  at: number,
  jid = `2026112010${String(at % HOUR).padStart(10, '0')}`,
): ReturnRow {
  const more = { fun: 'saltutil.find_job', fun_args: [asked] };
  const load = returnLoad(jid, id, value, more);
  return returnRow(jid, id, value, { load, receivedAt: at, seq: at - TEN });
}

const RUNNING = mapOf({ pid: 4711, fun: 'test.sleep' });
const IDLE = mapOf({});

async function sightings(jid: string): Promise<unknown[]> {
  const { rows } = await pool.query<object>(
    `SELECT id, kind, extract(epoch FROM first_at)::float8 * 1000 AS first,
       extract(epoch FROM last_at)::float8 * 1000 AS last, count, detail
     FROM brine.sightings WHERE jid = $1 ORDER BY id, kind`,
    [jid],
  );
  return rows;
}

test('answers to find_job are kept as sightings of the job that was asked about', async () => {
  const jid = '20261120100000000001';
  await cache.saveJobs([job(jid)]);
  const asked = '20261120100500000000';
  await cache.saveReturns([
    answer(jid, 'm1', RUNNING, TEN + 60 * SECOND, asked),
    answer(jid, 'm2', IDLE, TEN + 61 * SECOND, asked),
    answer(jid, 'm3', 'Traceback: it broke', TEN + 61 * SECOND, asked),
    returnRow('20261120100500000009', 'm1', IDLE),
  ]);
  const [first, last] = [TEN + 60 * SECOND, TEN + 90 * SECOND];
  await cache.saveReturns([answer(jid, 'm1', RUNNING, last)]);
  const at = TEN + 61 * SECOND;
  expect(await sightings(jid)).toEqual([
    { id: 'm1', kind: 'running', first, last, count: 2, detail: detailOf(last) },
    { id: 'm2', kind: 'not_running', first: at, last: at, count: 1, detail: { asked } },
  ]);
});

function detailOf(at: number): object {
  return { asked: answer('', '', null, at).jid, pid: 4711 };
}

test('a targeted minion that is seen running prolongs the job, others do not', async () => {
  const jid = '20261120100000000002';
  await cache.saveJobs([job(jid)]);
  const deadline = async (): Promise<number | undefined> => (await cache.getJob(jid))?.deadlineAt;
  await cache.saveReturns([answer(jid, 'stranger', RUNNING, TEN + 1000 * SECOND)]);
  await cache.saveReturns([answer(jid, 'm1', IDLE, TEN + 1000 * SECOND)]);
  expect(await deadline()).toBe(TEN + HOUR);
  const seen = TEN + 1000 * SECOND;
  await cache.saveReturns([answer(jid, 'm2', RUNNING, seen), answer(jid, 'm1', RUNNING, seen - 1)]);
  expect(await deadline()).toBe(seen + HOUR);
  await cache.saveReturns([answer(jid, 'm2', RUNNING, seen - 400 * SECOND)]);
  expect(await deadline()).toBe(seen + HOUR);
  // However long a minion reports it.
  await cache.saveReturns([answer(jid, 'm2', RUNNING, TEN + 60 * DAY)]);
  expect(await deadline()).toBe(TEN + 30 * DAY);
});

test('a job that comes after its minion was seen running is prolonged', async () => {
  const jid = '20261120100000000003';
  const seen = TEN + 600 * SECOND;
  await cache.saveReturns([answer(jid, 'm1', RUNNING, seen)]);
  await cache.saveJobs([job(jid)]);
  expect((await cache.getJob(jid))?.deadlineAt).toBe(seen + HOUR);
});

test('a job that came at the same moment is prolonged with the orphans', async () => {
  const jid = '20261120100000000004';
  const seen = TEN + 600 * SECOND;
  await cache.saveReturns([answer(jid, 'm1', RUNNING, seen)]);
  await cache.saveJobs([job(jid)]);
  // As if neither statement had seen the other's row.
  await pool.query('UPDATE brine.jobs SET deadline_at = published_at + deadline_after');
  await cache.adoptOrphans(0);
  expect((await cache.getJob(jid))?.deadlineAt).toBe(seen + HOUR);
});

test('nothing is kept of jids that a minion made up', async () => {
  const old = '20250101100000000000';
  await cache.saveReturns([
    answer('../../etc', 'm1', RUNNING, TEN + SECOND),
    answer(['x'], 'm1', RUNNING, TEN + 2 * SECOND),
    answer(old, 'm1', RUNNING, TEN + 3 * SECOND),
    answer('20261399100000000000', 'm1', RUNNING, TEN + 4 * SECOND),
  ]);
  const { rows } = await pool.query(
    `SELECT jid FROM brine.sightings WHERE jid NOT LIKE '20261120%'
     UNION ALL SELECT jid FROM brine.orphans WHERE jid NOT LIKE '20261120%'`,
  );
  expect(rows).toEqual([]);
  await cache.saveJobs([job(old)]);
  await cache.saveReturns([answer(old, 'm1', RUNNING, TEN + 5 * SECOND)]);
  expect(await sightings(old)).toMatchObject([{ id: 'm1', kind: 'running' }]);
});

test('a sighting from a service is kept for the whole job or for many minions', async () => {
  const jid = '20261120100000000005';
  await cache.saveJobs([job(jid)]);
  const ids = Array.from({ length: 12_000 }, (_, n) => `m${n}`);
  const again = { jid, ids, kind: 'sent_again', at: TEN + SECOND } as const;
  const rows = [
    { jid, ids: [''], kind: 'expired', at: TEN + SECOND },
    { jid, ids: ['m1'], kind: 'refused', at: TEN, detail: { reason: 'x'.repeat(2000) } },
    { jid, ids: ['m2'], kind: 'refused', at: TEN, detail: { reason: 'half \ud800' } },
    again,
  ] as const;
  await cache.saveSightings(rows);
  await cache.saveSightings(rows);
  await cache.saveSightings([{ ...again, ids: ['m7'], at: TEN + 2 * SECOND }]);
  const found = await pool.query(
    `SELECT kind, count(*)::integer AS rows, sum(count)::integer AS count FROM brine.sightings
     WHERE jid = $1 GROUP BY kind ORDER BY kind`,
    [jid],
  );
  expect(found.rows).toEqual([
    { kind: 'expired', rows: 1, count: 1 },
    { kind: 'refused', rows: 2, count: 2 },
    { kind: 'sent_again', rows: 12_000, count: 12_001 },
  ]);
});

test('a return that is put in quarantine is seen as refused', async () => {
  const jid = '20261120100000000006';
  await cache.saveJobs([job(jid)]);
  const receivedAt = TEN + SECOND;
  const load = Buffer.from('c1', 'hex');
  await cache.saveReturns([
    returnRow(jid, 'm1', 1, { load, receivedAt }),
    returnRow(jid, 'm2\ud800', 1, { load, receivedAt, seq: 2 }),
  ]);
  expect(await sightings(jid)).toMatchObject([
    { id: 'm1', kind: 'refused', first: receivedAt, detail: { reason: 'quarantine' } },
  ]);
});

test('of each minion the last eight log-ins are kept, in whatever order they come', async () => {
  const times = Array.from({ length: 20 }, (_, n) => TEN + n * SECOND);
  const rows = times.map((at) => ({ id: 'm1', at }));
  await cache.saveLogIns([...rows.slice(10), { id: 'm2', at: TEN }]);
  await cache.saveLogIns([...rows.slice(0, 15), { id: 'nul\0', at: TEN }]);
  await cache.saveLogIns(rows.slice(3, 4));
  const found = await pool.query<{ id: string; at: Date[] }>(
    'SELECT id, at FROM brine.log_ins ORDER BY id',
  );
  expect(found.rows.map(({ id, at }) => [id, at.map(Number)])).toEqual([
    ['m1', times.slice(12)],
    ['m2', [TEN]],
  ]);
});
