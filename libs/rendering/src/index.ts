export { MasterTops } from './external-tops.ts';
export { CachedPillars } from './pillar-cache.ts';
export { ThreadedPillars } from './pillar-threads.ts';
export { ThreadedSls } from './sls-threads.ts';
export { RENDER_THREADS } from './threads/render-threads.ts';
