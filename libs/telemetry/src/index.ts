export { nowMs } from './clock.ts';
export { formatTrace } from './format-trace.ts';
export { createLog } from './log.ts';
export { readTrace } from './read-trace.ts';
export { defaultParent, isSampled, parseTraceparent } from './span.ts';
export { startTelemetry, traceDir } from './telemetry.ts';

export type { Log, LogOptions, SaltLogLevel } from './log.ts';
export type { Trace, TraceNode } from './read-trace.ts';
export type { SpanAttribute, SpanRecord } from './span.ts';
export type { LiveSpan, SpanStart, Telemetry, TelemetryOptions } from './telemetry.ts';
