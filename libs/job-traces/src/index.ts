export type { WorkerTraces } from './traces.ts';
export { openTraces } from './traces.ts';
