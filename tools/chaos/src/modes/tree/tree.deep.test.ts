import { JobCache } from '@brine/job-cache';
import { UsageError } from '@brine/swarm/options';
import { jobRow, returnRow, startPostgres } from '@brine/testing';
import { expect, test } from 'vitest';
import { nameOf } from '../../plan.ts';
import { compareLedgers } from './compare-ledgers.ts';
import { treePlan } from './plan.ts';
import { tree } from './tree-mode.ts';

test('every plan begins with a fault of each that a tree has to bear', () => {
  const { steps } = treePlan(30, 5);
  expect(steps).toHaveLength(30);
  const names = steps.slice(0, 9).map(({ fault }) => nameOf(fault));
  expect(names).toEqual([
    'kill -9 syndic-relay',
    'kill -9 master-above',
    'stall request to-client for 2000 ms',
    'cut all connections of request',
    'stall request to-server for 4000 ms',
    'stall publish to-client for 4000 ms',
    'cut all connections of publish',
    'refuse request for 3000 ms',
    names[8],
  ]);
  expect(treePlan(30, 5)).toEqual(treePlan(30, 5));
  expect(treePlan(2, 5).steps).toHaveLength(2);
});

test('values out of range and options of other modes are refused', async () => {
  await expect(tree.run(['--tree', 'many'])).rejects.toThrow(UsageError);
  await expect(tree.run(['--tree', '5', '--rolling', '1'])).rejects.toThrow(UsageError);
});

test('a count of one ledger alone is a difference, and so is a job below alone', async () => {
  const servers = [await startPostgres(), await startPostgres()] as const;
  const caches = await Promise.all(servers.map(({ url }) => JobCache.connect(url)));
  const [above, below] = caches as [JobCache, JobCache];
  try {
    const [both, never, alone] = [
      '20261120100000000001',
      '20261120100000000002',
      '20261120100000000003',
    ] as const;
    await above.saveJobs([
      jobRow(both, { minions: ['a', 'b'], seq: 1 }),
      jobRow(never, { minions: [], seq: 2 }),
    ]);
    await above.saveReturns([returnRow(both, 'a', true, { seq: 3 })]);
    await below.saveJobs([
      jobRow(both, { minions: ['a', 'b'], seq: 1 }),
      jobRow(alone, { minions: ['a'], seq: 2 }),
    ]);
    await below.saveReturns(['a', 'b'].map((id, n) => returnRow(both, id, true, { seq: 4 + n })));
    expect(await compareLedgers(servers[0].url, servers[1].url)).toEqual({
      jobs: 2,
      neverBelow: 1,
      above: 1,
      below: 2,
      differences: [`${both} returned: below only: b`, `${alone}: a job below, and none above`],
    });
  } finally {
    for (const one of caches) await one.close();
    for (const one of servers) await one.stop();
  }
});
