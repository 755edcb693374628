export { Gateway } from './gateway.ts';
export type { Spans } from './ports.ts';
export type { LostReason } from './sealed-lane.ts';
export { GatewaySpans, noteContext } from './spans.ts';
