export { drawResults, isComplete } from './report.ts';
export { readScenario } from './scenario.ts';
export { Swarm } from './swarm.ts';
export { minionId } from './types.ts';

export type {
  Behaviour,
  EventsOptions,
  JobResult,
  LoadOptions,
  LoadResult,
  ProcessStats,
  PublishesOptions,
  PublishOptions,
  ReturnsOptions,
  SwarmCounts,
  SwarmOptions,
  SwarmStats,
} from './types.ts';
export type { StepResult } from './report.ts';
