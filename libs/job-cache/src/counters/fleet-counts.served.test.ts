import { jobRow, returnLoad, returnRow } from '@brine/testing';
import type { SaltValue } from '@brine/wire';
import { mapOf, SaltFloat } from '@brine/wire';
import { afterAll, afterEach, expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { JobCache } from '../job-cache.ts';
import type { FleetCount } from './fleet-counts.ts';
import { FleetCounts } from './fleet-counts.ts';

const { cache, pool, url } = await jobCacheScene();
const counts = new FleetCounts(url);
afterAll(() => counts.close());

afterEach(async () => {
  await pool.query('DELETE FROM brine.jobs; DELETE FROM brine.returns; DELETE FROM brine.evidence');
  await pool.query('DELETE FROM brine.orphans; DELETE FROM brine.quarantine');
  await pool.query('DELETE FROM brine.counters; DELETE FROM brine.last_values');
});

/** The numbers of a metric as `labels=value`. */
async function told(metric: FleetCount['metric'], from = counts): Promise<readonly string[]> {
  const read = (await from.read()) ?? [];
  const found = read.filter((one) => one.metric === metric);
  return found.map(({ labels, value }) => `${labels.join('|')}=${value}`).sort();
}

function returned(jid: string, id: string, more: Readonly<Record<string, SaltValue>>, seq = 1) {
  return returnRow(jid, id, true, { load: returnLoad(jid, id, true, more), seq });
}

test('jobs, targets and returns are counted once, by function, state and success', async () => {
  const jid = '20261120100000000001';
  const other = '20261120100000000002';
  const job = jobRow(jid);
  await cache.saveJobs([job, jobRow(other, { fun: ['test.ping', 'cmd.run'], minions: ['m1'] })]);
  await cache.saveJobs([job, { ...job, seq: 9 }]);
  const bad = returned(jid, 'm2', { retcode: 1 });
  await cache.saveReturns([returnRow(jid, 'm1', true), bad, bad]);
  await cache.saveReturns([bad, { ...bad, seq: 7 }]);
  expect(await told('jobs')).toEqual(['test.ping,cmd.run|=1', 'test.ping|=1']);
  expect(await told('targeted')).toEqual(['test.ping,cmd.run|=1', 'test.ping|=3']);
  expect(await told('returns')).toEqual(['test.ping||false=1', 'test.ping||true=1']);
  expect(await told('responses')).toEqual(['m1|true=1', 'm2|false=1']);
});

test('a job born of a return counts when its publication comes, and only then', async () => {
  const jid = '20261120100000000003';
  await cache.saveJobs([jobRow(jid, { bornOfReturn: true, minions: ['m1'] })]);
  expect(await told('jobs')).toEqual([]);
  await cache.saveJobs([jobRow(jid)]);
  await cache.saveJobs([jobRow(jid), jobRow(jid, { bornOfReturn: true })]);
  expect(await told('jobs')).toEqual(['test.ping|=1']);
  expect(await told('targeted')).toEqual(['test.ping|=3']);
});

test('states, schedules and durations are counted as salt-exporter counts them', async () => {
  const jid = '20261120100000000004';
  const states = mapOf({
    'a_|-a': mapOf({ result: true, duration: new SaltFloat(500.5) }),
    'b_|-b': mapOf({ result: true, duration: 1000 }),
  });
  const high = { fun: 'state.highstate', return: states };
  const sls = { fun: 'state.sls', fun_args: [mapOf({ mods: 'web' })], schedule: 'nightly' };
  const single = { fun: 'state.single', fun_args: ['test.nop'], retcode: 2 };
  await cache.saveReturns([
    returned(jid, 'm1', high),
    returned(jid, 'm2', { ...high, retcode: 2 }),
    returned(jid, 'm3', sls),
    returned(jid, 'm4', single),
    returned(jid, 'm5', { fun: 'state.apply' }),
  ]);
  expect(await told('returns')).toEqual([
    'state.apply|highstate|true=1',
    'state.highstate|highstate|false=1',
    'state.highstate|highstate|true=1',
    'state.single|test.nop|false=1',
  ]);
  expect(await told('scheduled')).toEqual(['state.sls|web|true=1']);
  expect(await told('function_status')).toEqual([
    'm1|state.highstate|highstate=1',
    'm2|state.highstate|highstate=0',
  ]);
  expect(await told('state_duration')).toEqual(['state.highstate|highstate=1.5005']);
  // The latest counts, whatever comes in which order.
  const late = {
    ...returned('20261120100000000005', 'm2', high, 3),
    receivedAt: 1_795_000_009_000,
  };
  const early = { ...returned('20261120100000000006', 'm2', { ...high, retcode: 2 }, 2) };
  await cache.saveReturns([late]);
  await cache.saveReturns([early]);
  expect(await told('function_status')).toContain('m2|state.highstate|highstate=1');
});

test('durations are spread over the buckets of Salt 3008', async () => {
  const jid = '20261120100000000007';
  const start = Date.UTC(2026, 10, 20, 10);
  const after = (id: string, ms: number) => ({ ...returnRow(jid, id, 1), receivedAt: start + ms });
  await cache.saveReturns([after('a', 20), after('b', 21), after('c', 70_000), after('d', -9)]);
  expect(await told('duration')).toEqual(['test.ping|0=1', 'test.ping|14=1', 'test.ping|3=2']);
  expect(await told('duration_sum')).toEqual([
    expect.stringMatching(/^test\.ping=7004\d\.\d+$/) as string,
  ]);
});

test('two processes count the same rows once, and one of them reports', async () => {
  const jid = '20261120100000000008';
  const other = await JobCache.connect(url);
  const second = new FleetCounts(url);
  const rows = Array.from({ length: 300 }, (_, n) => returnRow(jid, `m${n}`, n, { seq: n }));
  await Promise.all([
    cache.saveReturns(rows),
    other.saveReturns(rows.map((row) => ({ ...row, seq: row.seq + 1000 })).reverse()),
    cache.saveJobs([jobRow(jid)]),
    other.saveJobs([jobRow(jid)]),
  ]);
  expect(await told('returns')).toEqual(['test.ping||true=300']);
  expect(await told('jobs')).toEqual(['test.ping|=1']);
  expect(await second.read()).toBeUndefined();
  expect([counts.isReporter, second.isReporter]).toEqual([true, false]);
  // The process that reported is gone: the next one that is asked reports the same.
  await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'brine metrics' AND datname = current_database()
     AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)`,
  );
  await expect.poll(() => told('returns', second)).toEqual(['test.ping||true=300']);
  expect(await counts.read()).toBeUndefined();
  await second.close();
  expect(await told('returns')).toEqual(['test.ping||true=300']);
  await other.close();
});

test('a refused row does not count', async () => {
  const jid = '20261120100000000009';
  const rows = Array.from({ length: 20 }, (_, n) => returnRow(jid, `m${n}`, n, { seq: n }));
  rows[3] = returnRow(jid, 'nul\0', 3, { seq: 3 });
  await cache.saveReturns(rows);
  expect(await told('returns')).toEqual(['test.ping||true=19']);
  expect(await told('quarantine')).toEqual(['=1']);
});

test('labels are bounded, over restarts too, and the sum stays right', async () => {
  const few = { maxMinionLabels: 10 };
  let folded = 0;
  for (let start = 0; start < 2; start += 1) {
    const one = await JobCache.connect(url, {
      ...few,
      onMinionsFolded: () => void (folded += 1),
    });
    for (let at = 0; at < 300; at += 100) {
      const rows = Array.from({ length: 100 }, (_, n) => {
        const jid = `2026112011000${start}${String(at + n).padStart(6, '0')}`;
        return returned(jid, `m${at + n}`, { fun: `mod.fun${start * 300 + at + n}` }, at + n);
      });
      await one.saveReturns(rows);
    }
    await one.saveJobs([jobRow('20261120110000999999', { fun: `x.${'y'.repeat(200)}` })]);
    await one.close();
  }
  const returns = await told('returns');
  expect(returns).toHaveLength(151);
  expect(returns).toContain('other||true=450');
  const responses = await told('responses');
  expect(responses).toHaveLength(11);
  expect(responses).toContain('other|true=580');
  // Once for each start.
  expect(folded).toBe(2);
  expect(await told('jobs')).toEqual(['other|=1']);
});
