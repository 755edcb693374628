import type { Event } from '@brine/job';
import { mapIn, type SaltMap, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { MasterStats } from './master-stats.ts';

const EVERY_MS = 60_000;

function scene(instance = 'worker-pool-2') {
  const clock = { now: 1_000 };
  const fired: { tag: string; kind: string; data: SaltMap }[] = [];
  const stats = new MasterStats({
    instance,
    host: 'm1',
    everyMs: EVERY_MS,
    fire: async ({ tag, kind, body }: Event) =>
      void fired.push({ tag, kind, data: unpackMap(body) }),
    onTrouble: (error) => {
      throw error;
    },
    now: () => clock.now,
  });
  return { clock, fired, stats };
}

// The shape that salt/master.py of 3008.2 fires.
test('an event tells of each command how often it ran, and its mean in seconds', () => {
  const { clock, fired, stats } = scene();
  stats.ran('_auth', 30);
  stats.ran('_return', 10);
  clock.now += EVERY_MS;
  stats.ran('_return', 20);
  expect(fired).toEqual([]);
  clock.now += 500;
  stats.ran('_return', 30);
  expect(fired).toHaveLength(1);
  const [{ tag, kind, data } = { tag: '', kind: '', data: new Map() as SaltMap }] = fired;
  expect([tag, kind]).toEqual(['salt/stats/worker-pool-2.m1', 'local']);
  expect([...data.keys()]).toEqual(['time', 'worker', 'pool', 'pool_index', 'stats']);
  expect([data.get('time'), data.get('worker')]).toEqual([60.5, 'worker-pool-2.m1']);
  expect([data.get('pool'), data.get('pool_index')]).toEqual(['default', 1]);
  const of = (cmd: string): unknown[] => [...(mapIn(mapIn(data, 'stats')!, cmd) ?? [])];
  expect(of('_auth')).toEqual([
    ['runs', 1],
    ['mean', 0.03],
  ]);
  const [runs, mean] = of('_return') as [[string, number], [string, number]];
  expect([runs[1], mean[1]]).toEqual([3, expect.closeTo(0.02, 9) as number]);
});

test('each event counts from the one before, and a worker without requests fires none', () => {
  const { clock, fired, stats } = scene('worker-pool');
  for (let n = 0; n < 3; n += 1) {
    clock.now += EVERY_MS + 1;
    stats.ran('_mine', 5);
  }
  expect(fired).toHaveLength(3);
  for (const { data } of fired) {
    expect(data.get('pool_index')).toBe(0);
    expect(mapIn(mapIn(data, 'stats')!, '_mine')?.get('runs')).toBe(1);
  }
  clock.now += 10 * EVERY_MS;
  expect(fired).toHaveLength(3);
});
