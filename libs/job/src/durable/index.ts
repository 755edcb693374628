export type { DurableAction, DurableFacts, DurableState } from './durable.ts';
export {
  confirmDurable,
  durablePieces,
  IDLE,
  noteLogIns,
  openDurable,
  stepDurable,
} from './durable.ts';
export { durableTtl } from './durable-ttl.ts';
