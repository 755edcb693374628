import { randomBytes } from 'node:crypto';
import { type Jid, spanIdOf, traceIdOf } from '@brine/job';

/** What an attribute of a span may hold. */
export type SpanAttribute = string | number | boolean;

/** One finished piece of work on the way of a job. */
export interface SpanRecord {
  readonly name: string;
  /** The job it belongs to; without one the span is a trace of its own. */
  readonly jid?: string | undefined;
  /** Which seam of the job: `gateway.publish`, `store.<minion id>`; the name when absent. */
  readonly part?: string | undefined;
  /** Seam it was caused by; the table in defaultParent when absent. */
  readonly parentPart?: string | undefined;
  /** Unix milliseconds, fractions welcome. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes?: Readonly<Record<string, SpanAttribute | undefined>> | undefined;
  /** A W3C `traceparent` that came from outside: a link, never a parent. */
  readonly link?: string | undefined;
  /** What went wrong, in words; a span without one is good. */
  readonly error?: string | undefined;
}

/** A span with its ids, as it is written and sent. */
export interface Span extends SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly linkContext: { readonly traceId: string; readonly spanId: string } | undefined;
}

/**
 * The seam that causes a seam, where the caller names none. A return hangs below `publish`, not
 * below the minion's span: stock minions record none, and a missing parent breaks the tree.
 */
export function defaultParent(part: string): string | undefined {
  const [head, kind] = part.split('.', 2);
  const minion = part.slice(`${head}.${kind}.`.length);
  if (part === 'gateway.publish') return 'request';
  if (part === 'worker.publish') return 'gateway.publish';
  if (part === 'record') return 'worker.publish';
  if (part === 'publish') return 'record';
  if (head === 'minion') return 'publish';
  if (head === 'gateway' && kind === 'return') return 'publish';
  if (head === 'worker' && kind === 'return') return `gateway.return.${minion}`;
  if (head === 'store') return `worker.return.${part.slice('store.'.length)}`;
  return undefined;
}

/** Gives a record its ids; those of a job follow from the jid, so that nobody must be told. */
export function spanOf(record: SpanRecord): Span {
  const linkContext = parseTraceparent(record.link);
  if (record.jid === undefined) {
    const traceId = randomBytes(16).toString('hex');
    const spanId = randomBytes(8).toString('hex');
    return { ...record, traceId, spanId, parentSpanId: undefined, linkContext };
  }
  const jid = record.jid as Jid;
  const part = record.part ?? record.name;
  const parentPart = record.parentPart ?? defaultParent(part);
  return {
    ...record,
    part,
    parentPart,
    traceId: traceIdOf(jid),
    spanId: spanIdOf(jid, part),
    parentSpanId: parentPart === undefined ? undefined : spanIdOf(jid, parentPart),
    linkContext,
  };
}

/**
 * True where a trace is recorded at a ratio from 0 to 1. It is read off the trace id, which is a
 * hash of the jid, so all services choose the same jobs.
 */
export function isSampled(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  return Number.parseInt(traceId.slice(0, 8), 16) / 0x1_0000_0000 < ratio;
}

/** Reads a W3C traceparent; undefined for anything that is none. */
export function parseTraceparent(
  text: string | undefined,
): { traceId: string; spanId: string } | undefined {
  const match = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/.exec(text ?? '');
  const [, traceId, spanId] = match ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId };
}
