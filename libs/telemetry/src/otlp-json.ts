import type { Span, SpanAttribute } from './span.ts';

/** Attribute names of ours; the tree of `brine trace` is built from the parts. */
export const PART = 'brine.part';
export const PARENT_PART = 'brine.parent_part';
export const JID = 'brine.jid';

/** Who recorded a span. */
export interface SpanSource {
  readonly service: string;
  readonly host: string;
  readonly pid: number;
}

interface JsonAttribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly boolValue?: boolean;
    readonly intValue?: string;
    readonly doubleValue?: number;
  };
}

/** One line of a trace file, as far as it is read back. */
export interface TraceLine {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly JsonAttribute[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly JsonSpan[] }[];
  }[];
}

/** A span in OTLP's JSON mapping (opentelemetry-proto, trace.proto). */
export interface JsonSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly JsonAttribute[];
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
}

/** Writes spans as one OTLP JSON object (an ExportTraceServiceRequest), without a line end. */
export function otlpJson(spans: readonly Span[], source: SpanSource): string {
  const line: TraceLine = {
    resourceSpans: [
      {
        resource: {
          attributes: [
            attribute('service.name', source.service),
            attribute('host.name', source.host),
            attribute('process.pid', source.pid),
          ],
        },
        scopeSpans: [{ spans: spans.map(jsonSpan) }],
      },
    ],
  };
  return JSON.stringify(line);
}

/** The attributes of a span as they are written and sent, ours included. */
export function attributesOf(span: Span): Record<string, SpanAttribute> {
  const all: Record<string, SpanAttribute | undefined> = {
    ...span.attributes,
    [JID]: span.jid,
    [PART]: span.part,
    [PARENT_PART]: span.parentPart,
  };
  const out: Record<string, SpanAttribute> = {};
  for (const [key, value] of Object.entries(all)) if (value !== undefined) out[key] = value;
  return out;
}

/** Reads attributes back. */
export function readAttributes(
  attributes: readonly JsonAttribute[] | undefined,
): Record<string, SpanAttribute> {
  const out: Record<string, SpanAttribute> = {};
  for (const { key, value } of attributes ?? []) {
    const read =
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue ?? 0);
    out[key] = read;
  }
  return out;
}

function jsonSpan(span: Span): JsonSpan {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    startTimeUnixNano: nanoseconds(span.startMs),
    endTimeUnixNano: nanoseconds(span.endMs),
    attributes: Object.entries(attributesOf(span)).map(([key, value]) => attribute(key, value)),
    ...(span.error === undefined ? {} : { status: { code: 2, message: span.error } }),
    ...(span.linkContext === undefined ? {} : { links: [span.linkContext] }),
  };
}

function attribute(key: string, value: SpanAttribute): JsonAttribute {
  if (typeof value === 'string') return { key, value: { stringValue: value } };
  if (typeof value === 'boolean') return { key, value: { boolValue: value } };
  if (Number.isInteger(value)) return { key, value: { intValue: String(value) } };
  return { key, value: { doubleValue: value } };
}

/** Milliseconds to OTLP's nanosecond text; µs are kept, a double holds no more of today's time. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}
