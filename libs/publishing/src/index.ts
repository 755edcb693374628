export { AgainRule, burstWindow, startWindow } from './again-rule.ts';
export { Burst } from './burst.ts';
export type { DurableStore, DurableTask, LogIns } from './durable-ports.ts';
export { DurableSender, waitUnlessAborted } from './durable-sender.ts';
export { BucketHighWater } from './high-water.ts';
export type { Unreturned } from './ports.ts';
export { Publisher } from './publisher.ts';
export { Sealer } from './sealer.ts';
export { topicOf } from './topics.ts';
