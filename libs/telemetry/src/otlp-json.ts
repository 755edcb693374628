import type { Span, SpanAttribute } from './span.ts';

/** Our attribute for the label of a span in the tree of `brine trace`. */
export const PART = 'brine.part';
export const JID = 'brine.jid';
export const REQUEST = 'brine.request';
/** How many returns of a job have no spans of their own. */
export const LEFT_OUT = 'brine.left_out';

/** The process that recorded a span. */
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

/** The fields of a trace file's line that are read back. */
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

/**
 * Writes spans as one OTLP JSON object (an ExportTraceServiceRequest), without a line end. It joins
 * texts: objects and JSON.stringify cost three times as much for each span.
 */
export function otlpJson(spans: readonly Span[], source: SpanSource): string {
  const resource = [
    attribute('service.name', source.service),
    attribute('service.namespace', 'brine'),
    attribute('host.name', source.host),
    attribute('process.pid', source.pid),
  ].join(',');
  let list = '';
  for (const span of spans) list += list === '' ? jsonSpan(span) : `,${jsonSpan(span)}`;
  return (
    `{"resourceSpans":[{"resource":{"attributes":[${resource}]},` +
    `"scopeSpans":[{"scope":{"name":"brine"},"spans":[${list}]}]}]}`
  );
}

/** The attributes of a span as they are written and sent, ours included. */
export function attributesOf({ record }: Span): Record<string, SpanAttribute> {
  const out: Record<string, SpanAttribute> = {};
  if (record.jid !== undefined) out[JID] = record.jid;
  if (record.request !== undefined) out[REQUEST] = record.request;
  if (record.part !== undefined) out[PART] = record.part;
  for (const [key, value] of Object.entries(record.attributes ?? {})) {
    if (value !== undefined) out[key] = value;
  }
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

// Kind 1 is INTERNAL, status code 2 is ERROR (trace.proto).
function jsonSpan(span: Span): string {
  const { record, parentSpanId, linkContext } = span;
  const { jid, request, part, attributes, error } = record;
  let list = jid === undefined ? '' : attribute(JID, jid);
  if (request !== undefined) list += separated(list, attribute(REQUEST, request));
  if (part !== undefined) list += separated(list, attribute(PART, part));
  if (attributes !== undefined) {
    for (const key in attributes) {
      const value = attributes[key];
      if (value !== undefined) list += separated(list, attribute(key, value));
    }
  }
  const parent = parentSpanId === undefined ? '' : `"parentSpanId":"${parentSpanId}",`;
  const status =
    error === undefined ? '' : `,"status":{"code":2,"message":${JSON.stringify(error)}}`;
  const links =
    linkContext === undefined
      ? ''
      : `,"links":[{"traceId":"${linkContext.traceId}","spanId":"${linkContext.spanId}"}]`;
  return (
    `{"traceId":"${span.traceId}","spanId":"${span.spanId}",${parent}` +
    `"name":${JSON.stringify(record.name)},"kind":1,` +
    `"startTimeUnixNano":"${nanoseconds(record.startMs)}",` +
    `"endTimeUnixNano":"${nanoseconds(record.endMs)}",` +
    `"attributes":[${list}]${status}${links}}`
  );
}

function separated(list: string, one: string): string {
  return list === '' ? one : `,${one}`;
}

function attribute(key: string, value: SpanAttribute): string {
  if (typeof value === 'string') {
    return `{"key":"${key}","value":{"stringValue":${JSON.stringify(value)}}}`;
  }
  if (typeof value === 'boolean') return `{"key":"${key}","value":{"boolValue":${value}}}`;
  if (Number.isInteger(value)) return `{"key":"${key}","value":{"intValue":"${value}"}}`;
  // JSON can not express NaN or infinity.
  return `{"key":"${key}","value":{"doubleValue":${Number.isFinite(value) ? value : 0}}}`;
}

/** Milliseconds to OTLP's nanosecond text, at the µs that a double can express today. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}
