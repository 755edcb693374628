import { until } from '@brine/testing/waits';
import { expect, test } from 'vitest';
import { ClusterTasks } from './cluster-tasks.ts';

const work = (name: string) => ({ kind: 'schedule' as const, name, work: async () => undefined });

test('what has no record is offered, and what has one is not', async () => {
  const there = new Set(['a']);
  const offered: string[] = [];
  const runs = new ClusterTasks([work('a'), work('b')], {
    isThere: async (name) => there.has(name),
    offer: async (_kind, name) => {
      offered.push(name);
      there.add(name);
      return true;
    },
    onTrouble: (text) => offered.push(text),
  });
  await until('both have a record', () => there.size === 2);
  runs.close();
  expect(offered).toEqual(['b']);
});

test('a bucket that is away is told of once, and tried again', async () => {
  let tries = 0;
  const troubles: string[] = [];
  const runs = new ClusterTasks([work('a')], {
    isThere: async () => {
      tries += 1;
      if (tries < 3) throw new Error('away');
      return true;
    },
    offer: async () => false,
    onTrouble: (text) => troubles.push(text),
  });
  await until('it was tried again', () => tries >= 3);
  runs.close();
  expect(troubles).toHaveLength(1);
});
