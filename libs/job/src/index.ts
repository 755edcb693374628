export type { AuditedAct, AuditOutcome, AuditRow } from './audited-act.ts';
export type { Event, EventKind, EventPosition, StreamEvent } from './event.ts';
export { EVENT_KINDS, INNER_KINDS, isEventKind, LARGE_RETURN_BYTES } from './event.ts';
export type { Jid } from './jid.ts';
export { isJid, JidMaker, jidStartTime, jidTimeMs } from './jid.ts';
export type { Job, JobOrigin, StoredOrigin } from './job.ts';
export { isJobOrigin, STORED_ORIGINS } from './job.ts';
export type { KeyState } from './minion-id.ts';
export { isMinionId, mayBeOffered, mayHaveKey } from './minion-id.ts';
export { firedTag } from './minion-tags.ts';
export { Outstanding } from './outstanding.ts';
export type { Seen, SilenceCause, SilenceEvidence } from './silence.ts';
export { causeOfSilence, SILENCE_CAUSES } from './silence.ts';
export {
  hookTag,
  isHookTag,
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
