export {
  confirmDurable,
  durablePieces,
  hearLogIns,
  IDLE,
  openDurable,
  stepDurable,
} from './durable.ts';
export { durableTtl, DURABLE_TTL_MAX_S } from './durable-ttl.ts';
export { isJid, JidMaker, jidStartTime, jidTimeMs } from './jid.ts';
export { isMinionId, mayHaveKey } from './minion-id.ts';
export { firedTag } from './minion-tags.ts';
export { Outstanding } from './outstanding.ts';
export { causeOfSilence, SILENCE_CAUSES } from './silence.ts';
export {
  jobErrorTag,
  jobNewTag,
  jobProgressTag,
  jobPublishTag,
  jobReturnTag,
  jobSubErrorTag,
  minionStartTag,
  parseTag,
  syndicStartTag,
} from './tags.ts';
export {
  ASKER_TRACES,
  publishingPart,
  requestSpanIdOf,
  requestTraceIdOf,
  spanIdOf,
  traceIdOf,
  traceparentOf,
} from './trace-id.ts';

export type { AuditedAct } from './audited-act.ts';
export type { DurableAction, DurableFacts, DurableState, DurableStep } from './durable.ts';
export type { Jid } from './jid.ts';
export type { FiredTag } from './minion-tags.ts';
export type { Booking, JobCounts } from './outstanding.ts';
export type { Seen, Silence, SilenceCause, SilenceEvidence } from './silence.ts';
export type { ParsedTag } from './tags.ts';
