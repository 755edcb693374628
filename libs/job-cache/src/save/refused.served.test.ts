import { jobRow, returnLoad, returnRow } from '@brine/testing';
import { mapOf, pack } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { asJobCacheError, isRefused } from '../connection/errors.ts';
import { refusedReturn } from '../index.ts';

const withState = (code: string): Error => Object.assign(new Error('refused'), { code });

describe('errors of PostgreSQL', () => {
  const final = ['21000', '22021', '22P02', '22P05', '22008', '23505', '42P01', '42703', '42501'];
  test.each([...final, '54000', '54001', '0A000', 'P0001', '44000'])('%s is final', (state) => {
    expect(isRefused(withState(state))).toBe(true);
    expect(asJobCacheError(withState(state))).toMatchObject({ retryable: false, sqlState: state });
    expect(isRefused(asJobCacheError(withState(state)))).toBe(true);
  });

  const later = ['08006', '25006', '40P01', '40001', '53100', '53200', '55P03', '57014', '57P01'];
  test.each([...later, '58030', 'XX000', 'ECONNREFUSED', ''])('%s may pass', (state) => {
    expect(asJobCacheError(withState(state))).toMatchObject({ retryable: true });
  });

  test('a row that no statement can be built of is refused for good', () => {
    expect(asJobCacheError(new RangeError('too long'))).toMatchObject({ retryable: false });
    expect(asJobCacheError(new TypeError('no JSON'))).toMatchObject({ retryable: false });
  });
});

describe('in the tables', async () => {
  const { cache, pool } = await jobCacheScene();

  test('of rows on record the bad one alone is left out', async () => {
    const at = '{"at":"2026-11-23T10:00:00Z"}';
    const row = (n: number, body = at) => ({ writer: 'w', n, body, before: '', seal: '' });
    const rows = [row(1), row(2, 'no JSON'), row(3), row(4, `{"at":"\0"}`), row(2 ** 53), row(5)];
    const unfit = await cache.audit.save([...rows, { ...row(6), seal: 'x\ud800' }, row(7)]);
    expect(unfit.map((one) => one.row.n)).toEqual([2, 4, 6]);
    const kept = await cache.audit.page({ writer: '', n: 0 });
    expect(kept.map(({ n }) => n)).toEqual([1, 3, 5, 7, 2 ** 53]);
  });

  test('a return is tried again under the name that it came with, not its column', async () => {
    const jid = '20261123100000000001';
    const row = returnRow(jid, 'odd\0name', true, { seq: 5 });
    expect((await cache.saveReturns([row])).refused).toHaveLength(1);
    const kept = await cache.quarantined.next({}, 0);
    expect(kept).toMatchObject({ id: 'odd\uFFFDname', seq: 5, state: '22P05' });
    expect(kept && refusedReturn(kept)).toMatchObject({ id: 'odd\0name', jid, seq: 5 });
    expect(kept && Buffer.from(refusedReturn(kept).load)).toEqual(Buffer.from(row.load));
    await cache.quarantined.drop({ numbers: [kept?.number ?? 0] });
  });

  test('ids, times and numbers that no column or index takes delay no other row', async () => {
    const jid = '20261123100000000002';
    const long = Array.from({ length: 4_000 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('');
    const states = mapOf({ one: mapOf({ duration: Infinity }), two: mapOf({ duration: NaN }) });
    const more = { fun: 'state.highstate', retcode: 2n ** 64n - 1n };
    const highstate = returnLoad(jid, 'large', states, more);
    const rows = [
      returnRow(jid, 'first', true, { seq: 1 }),
      returnRow(jid, long, true, { seq: 2 }),
      returnRow(jid, 'late', true, { seq: 3, receivedAt: 1e300 }),
      returnRow(jid, 'never', true, { seq: 4, receivedAt: Number.NaN }),
      returnRow(jid, 'large', true, { seq: 5, load: highstate }),
      returnRow(jid, 'last', true, { seq: 6 }),
    ];
    const report = await cache.saveReturns(rows);
    expect(report.stored).toBe(3);
    expect(report.refused.map(({ state }) => state).sort()).toEqual(['22008', '23502', '54000']);
    const jobs = [
      jobRow('20261123100000000003', { minions: ['a\0'] }),
      jobRow('20261123100000000004', { publishedAt: 1e300 }),
      jobRow('20261123100000000005'),
    ];
    expect(await cache.saveJobs(jobs)).toMatchObject({ stored: 1, refused: [{}, {}] });
  });

  test('a durable job that can not be gone on with makes way for the others', async () => {
    const at = Date.now();
    const jobs = ['20261123100000000006', '20261123100000000007'].map((jid, n) => ({
      ...jobRow(jid, { minions: ['m1'], requestId: `r${n}`, publishedAt: at - 60_000 + n }),
      notAfter: at + 3_600_000,
      requestId: `r${n}`,
      publication: pack(mapOf({ jid })),
    }));
    await cache.saveJobs(jobs);
    expect(await cache.durable.open(jobs)).toEqual([]);
    await pool.query(
      `UPDATE brine.durable SET state = '{"heard": null}', due_at = now() - interval '1 hour'
       WHERE request_id = 'r0'`,
    );
    const probe = '20261123100000000099';
    const { task } = await cache.durable.take(new Map([['bad\0', 1]]), probe, at + 60_000);
    expect(task).toMatchObject({ jid: jobs[1]?.jid });
    expect(await cache.quarantined.list({ kind: 'durable' }, 10)).toMatchObject({ total: 1 });
    expect(await cache.durable.countOpen()).toMatchObject({ open: 1 });
  });

  test('an orphan that no job can be made of delays no other', async () => {
    const jids = ['20261123100000000010', '20261123100000000011'];
    await pool.query(`
      CREATE FUNCTION public.odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.jid = '${jids[0]}' THEN RAISE EXCEPTION 'odd' USING ERRCODE = '22P02'; END IF;
        RETURN NEW; END $$;
      CREATE TRIGGER odd BEFORE INSERT ON brine.jobs
        FOR EACH ROW EXECUTE FUNCTION public.odd()`);
    await cache.saveReturns(jids.map((jid, n) => returnRow(jid, 'm1', true, { seq: 100 + n })));
    expect(await cache.adoptOrphans(0)).toBeGreaterThan(0);
    expect(await cache.getJob(jids[1] ?? '')).toMatchObject({ origin: 'return' });
    expect(await cache.adoptOrphans(0)).toBe(0);
    await pool.query('DROP TRIGGER odd ON brine.jobs');
  });
});
