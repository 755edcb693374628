export type { DurableAction, DurableFacts, DurableState } from './durable.ts';
export {
  confirmDurable,
  durablePieces,
  noteLogIns,
  IDLE,
  openDurable,
  stepDurable,
} from './durable.ts';
export { durableTtl } from './durable-ttl.ts';
