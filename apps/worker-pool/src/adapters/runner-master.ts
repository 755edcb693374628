import type { RunnerMaster } from '@brine/client';
import type { MinionData } from '@brine/master';
import type { ThreadedPillars } from '../pillars/pillars.ts';

/** What runners may ask of the worker that they run in. */
export function runnerMaster(pillars: ThreadedPillars, minionData: MinionData): RunnerMaster {
  return {
    grains: async (id) => (id === '' ? undefined : (await minionData.fetch(id))?.grains),
    pillar: (asked) => pillars.render(asked),
    pillarTop: (asked) => pillars.top(asked),
  };
}
