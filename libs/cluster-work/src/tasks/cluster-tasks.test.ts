import { until } from '@brine/testing/waits';
import { expect, test } from 'vitest';
import type { FoundRun } from '../ownership/run-offers.ts';
import { ClusterTasks } from './cluster-tasks.ts';

const RUN = { jid: 'a' } as FoundRun;
const work = (name: string) => ({ kind: 'schedule', name, work: async () => undefined });

test('what has no record is offered, and what has one is not', async () => {
  const there = new Set(['a']);
  const offered: string[] = [];
  const offers = {
    find: async (name: string) => (there.has(name) ? RUN : undefined),
    offer: async (_kind: string, name: string) => {
      offered.push(name);
      there.add(name);
      return true;
    },
  };
  const runs = new ClusterTasks([work('a'), work('b')], offers, (text) => offered.push(text));
  await until('both have a record', () => there.size === 2);
  runs.close();
  expect(offered).toEqual(['b']);
});

test('a bucket that is away is told of once, and tried again', async () => {
  let tries = 0;
  const troubles: string[] = [];
  const offers = {
    find: async () => {
      tries += 1;
      if (tries < 3) throw new Error('away');
      return RUN;
    },
    offer: async () => false,
  };
  const runs = new ClusterTasks([work('a')], offers, (text) => troubles.push(text));
  await until('it was tried again', () => tries >= 3);
  runs.close();
  expect(troubles).toHaveLength(1);
});
