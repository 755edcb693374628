export type { Range } from './command/read-options.ts';
export { MAX_SEED, readOptions, UsageError, wholeNumber } from './command/read-options.ts';
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
