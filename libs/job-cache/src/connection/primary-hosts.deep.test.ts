import { jobRow } from '@brine/testing';
import { startPostgresPair } from '@brine/testing/nodes';
import { until } from '@brine/testing/waits';
import { expect, test } from 'vitest';
import { JobCache } from '../job-cache.ts';
import { urlsOf } from './primary-hosts.ts';

test('a URL with several hosts is one for each, without libpq’s parameter for the primary', () => {
  const [a, b] = ['postgres://u:p@a:1/brine', 'postgres://u:p@b/brine'];
  expect(urlsOf('postgres://u:p@a:1,b/brine')).toEqual([a, b]);
  expect(urlsOf('postgres://u:p@a:1, b/brine?target_session_attrs=read-write')).toEqual([a, b]);
  expect(urlsOf('postgres://a,b/brine?target_session_attrs=any&sslmode=require')).toEqual([
    'postgres://a/brine?sslmode=require',
    'postgres://b/brine?sslmode=require',
  ]);
  expect(urlsOf('postgres://u:p@a/brine?x=1,2')).toEqual(['postgres://u:p@a/brine?x=1,2']);
});

test('the primary is found, whichever it is, with all commits', async () => {
  await using pair = await startPostgresPair();
  const cache = await JobCache.connect(pair.url, { maxConnections: 2, maxReads: 2 });
  try {
    const jids = ['20260101000000000001', '20260101000000000002', '20260101000000000003'];
    for (const [round, jid] of jids.entries()) {
      await until('the job is saved', () => cache.saveJobs([jobRow(jid)]), { withinMs: 30_000 });
      if (round > 0) await pair.standByAgain();
      await pair.failOver();
    }
    await until(
      'all jobs can be read',
      async () => {
        for (const jid of jids) expect(await cache.getLoad(jid)).toBeDefined();
        return true;
      },
      { withinMs: 30_000 },
    );
  } finally {
    await cache.close();
  }
});
