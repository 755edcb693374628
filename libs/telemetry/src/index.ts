export { nowMs } from './clock.ts';
export { formatTrace } from './format-trace.ts';
export { createLog } from './log.ts';
export { readTrace } from './read-trace.ts';
export {
  isChosen,
  isSampled,
  jobTraceId,
  newContext,
  parseTraceparent,
  traceparent,
} from './span.ts';
export { startTelemetry, traceDir } from './telemetry.ts';
export { packTraceNote, readTraceNote, TRACE_NOTE_MAX } from './trace-note.ts';

export type { Log } from './log.ts';
export type { Trace, TraceNode } from './read-trace.ts';
export type { SpanContext, SpanRecord } from './span.ts';
export type { RequestKind, TraceNote } from './trace-note.ts';
export type { Telemetry } from './telemetry.ts';
