export { AgainRule, Burst, burstWindow, READ_BACK_MS, startWindow } from './again-rule.ts';
export { DurableSender } from './durable-sender.ts';
export { Sealer, topicOf } from './frames.ts';
export type { DurableStore, DurableTask, LogIns, Unreturned } from './ports.ts';
export { Publisher } from './publisher.ts';
export { BucketHighWater } from './serials.ts';
