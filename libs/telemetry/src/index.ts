export { nowMs } from './clock.ts';
export { formatTrace } from './format-trace.ts';
export type { Log } from './log.ts';
export { createLog } from './log.ts';
export type { Trace, TraceNode } from './read-trace.ts';
export { readTrace } from './read-trace.ts';
export type { SpanContext, SpanRecord } from './span.ts';
export {
  isChosen,
  jobTraceId,
  newContext,
  parseTraceparent,
  traceparent,
} from './span.ts';
export type { Telemetry } from './telemetry.ts';
export { startTelemetry, traceDir } from './telemetry.ts';
export type { RequestKind, TraceNote } from './trace-note.ts';
export { packTraceNote, readTraceNote, TRACE_NOTE_MAX } from './trace-note.ts';
export type { ReturnSampling, TraceProfile } from './trace-profile.ts';
export { TRACE_SHARES } from './trace-profile.ts';
