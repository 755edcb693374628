import { jobRow, returnLoad, returnRow } from '@brine/testing';
import type { SaltMap } from '@brine/wire';
import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { type JobCache } from '../job-cache.ts';
import { globToRegex } from './glob.ts';

const { cache, pool } = await jobCacheScene();

const HOUR = 3_600_000;

test('each targeted minion is in exactly one state of the ledger', async () => {
  const jid = '20261120100000000001';
  const deadlineAt = Date.now() + HOUR;
  const minions = ['ok', 'bad', 'code', 'tardy', 'silent'];
  await cache.saveJobs([jobRow(jid, { minions, deadlineAt })]);
  await cache.saveReturns([
    returnRow(jid, 'ok', 1, { seq: 1 }),
    returnRow(jid, 'bad', 1, { seq: 2, load: returnLoad(jid, 'bad', 1, { success: false }) }),
    returnRow(jid, 'code', 1, { seq: 3, load: returnLoad(jid, 'code', 1, { retcode: 2 }) }),
    returnRow(jid, 'tardy', 1, { seq: 4, receivedAt: deadlineAt + 1 }),
    returnRow(jid, 'stranger', 1, { seq: 5 }),
  ]);
  const open = await cache.getJob(jid, { states: true });
  expect(open?.ledger).toEqual({
    targeted: 6,
    waiting: 1,
    returned: 2,
    failed: 2,
    late: 1,
    never: 0,
    unexpected: 1,
    evidence: 0,
  });
  expect(Object.fromEntries(open?.states ?? [])).toEqual({
    ok: 'returned',
    stranger: 'returned',
    bad: 'failed',
    code: 'failed',
    tardy: 'late',
    silent: 'waiting',
  });
  await pool.query("UPDATE brine.jobs SET deadline_at = now() - interval '1 s' WHERE jid = $1", [
    jid,
  ]);
  const closed = await cache.getJob(jid);
  expect(closed?.ledger).toMatchObject({ waiting: 0, never: 1 });
});

test('a failure of one function of a compound job is a failure', async () => {
  const jid = '20261120100000000002';
  const retcode = mapOf({ 'test.ping': 0, 'cmd.run': 3 });
  const load = returnLoad(jid, 'm1', mapOf({}), { fun: ['test.ping', 'cmd.run'], retcode });
  await cache.saveJobs([jobRow(jid)]);
  await cache.saveReturns([returnRow(jid, 'm1', null, { load })]);
  expect((await cache.getJob(jid))?.ledger.failed).toBe(1);
});

test('the load comes back with its bytes and the targeted minions', async () => {
  const jid = '20261120100000000003';
  const bytes = pack(
    mapOf({ fun: 'cmd.run', arg: [Buffer.from([0xff, 0])], tgt: 'x', z: 1, a: 2 }),
  );
  await cache.saveJobs([jobRow(jid, { load: bytes, minions: ['b', 'a'] })]);
  const load = await cache.getLoad(jid);
  expect(load?.get('Minions')).toEqual(['a', 'b']);
  load?.delete('Minions');
  expect(pack(load ?? null).equals(bytes)).toBe(true);
  expect(await cache.getLoad('20000101000000000000')).toBeUndefined();
});

test('a job of 100,000 minions is one row and is counted', async () => {
  const jid = '20261120100000000004';
  const minions = Array.from({ length: 100_000 }, (_, n) => `minion-${n}.example.org`);
  await cache.saveJobs([jobRow(jid, { minions, deadlineAt: Date.now() + HOUR })]);
  await cache.saveReturns([returnRow(jid, 'minion-7.example.org', true)]);
  const job = await cache.getJob(jid);
  expect(job?.ledger).toMatchObject({ targeted: 100_000, waiting: 99_999, returned: 1 });
});

test('returns are paged in order of the minions', async () => {
  const jid = '20261120100000000005';
  await cache.saveReturns(['c', 'a', 'b'].map((id, seq) => returnRow(jid, id, id, { seq })));
  const first = await cache.getJid(jid, { limit: 2 });
  expect([...first.returns.keys()]).toEqual(['a', 'b']);
  const second = await cache.getJid(jid, { limit: 2, after: first.next ?? '' });
  expect([...second.returns.keys()]).toEqual(['c']);
  expect(second.next).toBeUndefined();
});

test('jobs are listed a page at a time, newest first, each once', async () => {
  await pool.query('DELETE FROM brine.jobs');
  const jids = Array.from({ length: 25 }, (_, n) =>
    `2026112${n % 3}1200000${10_000 + n}0`.slice(0, 20),
  );
  await cache.saveJobs(jids.map((jid, seq) => jobRow(jid, { seq })));
  const seen: string[] = [];
  for (let before: string | undefined; ;) {
    const page = await cache.listJobs({ limit: 7, ...(before === undefined ? {} : { before }) });
    seen.push(...page.jobs.keys());
    before = page.next;
    if (before === undefined) break;
  }
  expect(seen).toEqual([...jids].sort().reverse());
});

test('jobs are found by function, target, metadata and time', async () => {
  await pool.query('DELETE FROM brine.jobs');
  const add = (jid: string, fun: string | string[], tgt: string | string[], kwargs: SaltMap) =>
    jobRow(jid, { fun, tgt, load: pack(mapOf({ fun, tgt, arg: [1], kwargs, user: 'ann' })) });
  const ping = '20261120100000000001';
  const compound = '20261120110000000001';
  const call = '20261120120000000001';
  await cache.saveJobs([
    add(ping, 'test.ping', 'web*', mapOf({ metadata: mapOf({ ticket: 7, by: 'x' }) })),
    add(compound, ['test.echo', 'pkg.install'], ['db1', 'db2'], mapOf({})),
    add(call, 'cmd.run', 'a(b', mapOf({})),
  ]);
  const found = async (options: Parameters<JobCache['listJobs']>[0]): Promise<string[]> => [
    ...(await cache.listJobs(options)).jobs.keys(),
  ];
  expect(await found({ searchFunction: ['test.*'] })).toEqual([compound, ping]);
  expect(await found({ searchFunction: ['pkg.install', 'cmd.r?n'] })).toEqual([call, compound]);
  expect(await found({ searchTarget: ['db[!1]'] })).toEqual([compound]);
  expect(await found({ searchTarget: ['a(b'] })).toEqual([call]);
  expect(await found({ searchMetadata: mapOf({ other: 1, ticket: 7 }) })).toEqual([ping]);
  expect(await found({ searchMetadata: mapOf({ ticket: 8 }) })).toEqual([]);
  expect(await found({ startTime: Date.UTC(2026, 10, 20, 11) })).toEqual([call, compound]);
  expect(await found({ endTime: Date.UTC(2026, 10, 20, 11) })).toEqual([compound, ping]);
  const { jobs } = await cache.listJobs({ searchFunction: ['test.ping'] });
  expect(Object.fromEntries(jobs.get(ping) ?? [])).toEqual({
    Function: 'test.ping',
    Arguments: [1],
    Target: 'web*',
    'Target-type': 'list',
    User: 'ann',
    Metadata: mapOf({ ticket: 7, by: 'x' }),
    StartTime: '2026, Nov 20 10:00:00.000001',
  });
});

test('hidden jobs can be left out', async () => {
  await pool.query('DELETE FROM brine.jobs');
  await cache.saveJobs([jobRow('20261120100000000001', { hidden: true })]);
  expect((await cache.listJobs()).jobs.size).toBe(1);
  expect((await cache.listJobs({ leaveOutHidden: true })).jobs.size).toBe(0);
});

test('outstanding names minions that have not returned to jobs that are still open', async () => {
  await pool.query('DELETE FROM brine.jobs');
  await pool.query('DELETE FROM brine.returns');
  const now = Date.now();
  const job = (jid: string, publishedAt: number, deadlineAt: number) =>
    jobRow(jid, { publishedAt, deadlineAt, minions: ['a', 'b'] });
  const open = '20261120100000000001';
  const done = '20261120100000000002';
  await cache.saveJobs([
    job(open, now - 2000, now + HOUR),
    job(done, now - 2000, now + HOUR),
    job('20261120100000000003', now - 2000, now - 1000),
    job('20261120100000000004', now - 90_000, now + HOUR),
  ]);
  await cache.saveReturns([
    returnRow(open, 'a', 1, { seq: 1 }),
    returnRow(done, 'a', 1, { seq: 2 }),
    returnRow(done, 'b', 1, { seq: 3 }),
  ]);
  expect(await cache.outstanding({ sinceMs: now - 10_000 })).toEqual([
    { jid: open, waiting: ['b'] },
  ]);
});

test.each([
  ['*', '^.*$'],
  ['web?.[ab]', '^web.\\.[ab]$'],
  ['[!a-c]*', '^[^a-c].*$'],
  ['a[b', '^a\\[b$'],
  ['[]x]', '^[\\]x]$'],
  ['(a|b)+$', '^\\(a\\|b\\)\\+\\$$'],
])('the glob %s is the expression %s', (glob, regex) => {
  expect(globToRegex(glob)).toBe(regex);
});
