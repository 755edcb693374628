export { Swarm } from './swarm.ts';
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
export { minionId } from './types.ts';
