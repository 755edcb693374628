import { randomBytes } from 'node:crypto';
import { type Jid, requestSpanIdOf, requestTraceIdOf, spanIdOf, traceIdOf } from '@brine/job';

/** The value of an attribute of a span. */
export type SpanAttribute = string | number | boolean;

/** The ids of a span, as W3C trace context has them. */
export interface SpanContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
}

/** A finished piece of work for a job or a request. */
export interface SpanRecord {
  readonly name: string;
  /** The job it belongs to. */
  readonly jid?: string | undefined;
  /** The request it belongs to, if it is of no job: log-ins, pillars, events. */
  readonly request?: string | undefined;
  /** The ids, if it belongs to neither and they came with a message. */
  readonly context?: SpanContext | undefined;
  /** Its seam: `gateway.publish`, `store.<minion id>`; default the name. */
  readonly part?: string | undefined;
  /**
   * The seam that caused it. Name only a seam that is recorded too: a span without a recorded cause
   * is a root. Never guessed here.
   */
  readonly parentPart?: string | undefined;
  /** The same for a span of a job whose cause came by its id, as with publications. */
  readonly parentSpanId?: string | undefined;
  /** Unix milliseconds, fractions welcome. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes?: Readonly<Record<string, SpanAttribute | undefined>> | undefined;
  /** A W3C `traceparent` that came from outside: a link, never a parent. */
  readonly link?: string | undefined;
  /** The text of the failure; a span without it is good. */
  readonly error?: string | undefined;
}

/** A span with its ids, as it is written and sent. */
export interface Span extends SpanContext {
  readonly record: SpanRecord;
  readonly parentSpanId: string | undefined;
  readonly linkContext: SpanContext | undefined;
}

/** Jobs with a remembered trace id: each return of a job needs it. */
const TRACE_IDS_MAX = 4096;
const traceIds = new Map<string, string>();

/** The trace id of a job, remembered: a hash for each span of a large job is expensive. */
export function jobTraceId(jid: string): string {
  const known = traceIds.get(jid);
  if (known !== undefined) return known;
  if (traceIds.size >= TRACE_IDS_MAX) traceIds.clear();
  const made = traceIdOf(jid as Jid);
  traceIds.set(jid, made);
  return made;
}

/** Gives a record its ids. Those of a job follow from the jid, so no service has to send them. */
export function spanOf(record: SpanRecord): Span {
  const { jid, request, context, parentPart } = record;
  const linkContext = record.link === undefined ? undefined : parseTraceparent(record.link);
  const part = record.part ?? record.name;
  if (jid !== undefined) {
    const id = jid as Jid;
    return {
      record,
      traceId: jobTraceId(jid),
      spanId: spanIdOf(id, part),
      parentSpanId: parentPart === undefined ? record.parentSpanId : spanIdOf(id, parentPart),
      linkContext,
    };
  }
  if (request !== undefined) {
    return {
      record,
      traceId: requestTraceIdOf(request),
      spanId: requestSpanIdOf(request, part),
      parentSpanId: parentPart === undefined ? undefined : requestSpanIdOf(request, parentPart),
      linkContext,
    };
  }
  return { record, ...(context ?? newContext()), parentSpanId: undefined, linkContext };
}

/** Ids for a span that belongs to no job and no request. */
export function newContext(): SpanContext {
  return { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') };
}

/** The W3C `traceparent` of a span that is recorded. */
export function traceparent({ traceId, spanId }: SpanContext): string {
  return `00-${traceId}-${spanId}-01`;
}

/**
 * True for a share of texts: the same texts in every process. FNV-1a with a final mix, because it
 * is called for each return of a large job.
 */
export function isChosen(text: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  if (ratio <= 0) return false;
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000 < ratio;
}

/** Reads a W3C traceparent; undefined if it is invalid. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const match = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/.exec(text ?? '');
  const [, traceId, spanId] = match ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId };
}
