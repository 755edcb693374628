export { ThreadedPillars } from './compiler-threads.ts';
export { MasterTops } from './external-tops.ts';
export { CachedPillars } from './pillar-cache.ts';
export { SLS_THREADS, ThreadedSls } from './sls-threads.ts';
