export { Gateway } from './gateway.ts';
export type { LostReason } from './sealed-lane.ts';
export { noteContext } from './spans.ts';
