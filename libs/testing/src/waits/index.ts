export { until } from './until.ts';
export type { UntilOptions } from './until.ts';
