import { isMap, mapIn, mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import type { OwnedRun } from '../owned-run.ts';
import { BatchPlan, settingsOf } from './batch-plan.ts';
import { adoptStockBatch } from './stock-batch.ts';

const JID = '20261126120000123456';
const NOW = Date.UTC(2026, 10, 26, 12, 0, 3);

/** As salt/cli/salt.py leaves it after the first part. */
const state = mapOf({
  jid: JID,
  all_minions: ['a', 'b', 'c', 'd'],
  pending: ['c', 'd'],
  batch_size: 2,
  active: mapOf({ a: 1.5, b: 1.5 }),
  done: mapOf({}),
  failed: mapOf({}),
  wait: [],
  fun: 'test.echo',
  arg: ['x'],
  kwargs: mapOf({ y: 1 }),
  tgt: '*',
  tgt_type: 'glob',
  failhard: true,
  batch_wait: 2,
  timeout: 5,
  gather_job_timeout: 10,
  ret: '',
  user: 'root',
  driver: 'master',
});

function runOf(data: SaltMap) {
  const run = { jid: JID, data, input: mapOf({}) };
  const saveInput = async (input: SaltMap, next: SaltMap): Promise<void> =>
    void Object.assign(run, { input, data: next });
  return Object.assign(run, { saveInput }) as unknown as OwnedRun;
}

test('the batch of a stock command goes on after the part that it has published', async () => {
  const run = runOf(mapOf({ adopt: state }));
  await adoptStockBatch(run, NOW);
  const load = mapIn(run.input, 'load') ?? mapOf({});
  expect(load.get('fun')).toBe('test.echo');
  expect(load.get('arg')).toEqual(['x', mapOf({ y: 1, __kwarg__: true })]);
  const settings = settingsOf(mapIn(run.input, 'settings') ?? mapOf({}));
  expect(settings).toMatchObject({ size: '2', waitMs: 2_000, failhard: true, timeoutMs: 5_000 });
  const saved = run.data.get('plan');
  const ids = run.input.get('ids') as string[];
  const plan = new BatchPlan(ids, settings, NOW, isMap(saved) ? saved : undefined);
  expect(plan.active).toEqual(['a', 'b']);
  expect(plan.unpublished).toEqual([]);
  expect(plan.dispatch(NOW)).toEqual([]);
  plan.returned('a', 0, NOW);
  expect(plan.dispatch(NOW + 2_000)).toEqual(['c']);
});

test('a batch of ours is left as it is', async () => {
  const run = runOf(mapOf({ total: 3 }));
  await adoptStockBatch(run, NOW);
  expect(run.data).toEqual(mapOf({ total: 3 }));
});
