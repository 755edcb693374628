import { type Jid, publishingPart, requestSpanIdOf, requestTraceIdOf, spanIdOf } from '@brine/job';
import {
  jobTraceId,
  nowMs,
  readTraceNote,
  type SpanContext,
  type TraceNote,
} from '@brine/telemetry';
import type { Spans } from './ports.ts';

/** The gateway's facts about a request that was answered. */
export interface AnsweredRequest {
  readonly id: string;
  /** When it came, in unix ms. */
  readonly startMs: number;
  readonly minion?: string | undefined;
  /** The number of peers that sent the same publish. */
  readonly askers?: number;
}

/** Records the gateway's part of a request, if the worker records its own. */
export class GatewaySpans {
  readonly #spans: Spans;

  constructor(spans: Spans) {
    this.#spans = spans;
  }

  /** `answer`: with the worker's note, if it gave one. */
  request(answer: { readonly trace?: string } | undefined, request: AnsweredRequest): void {
    const note = answer?.trace === undefined ? undefined : readTraceNote(answer.trace);
    if (note === undefined) return;
    const times = { startMs: request.startMs, endMs: nowMs() };
    if (note.kind === 'return') return this.#returned(note.jid, note.minion, times);
    if (note.kind === 'publish') return this.#published(note, request, times);
    const { id, minion } = request;
    this.#spans.recordSpan({
      name: `gateway ${note.kind}`,
      request: id,
      part: `gateway.${note.kind}`,
      ...times,
      attributes: { 'salt.minion': minion },
    });
  }

  /** The minion's name comes from the worker: envelopes of payload version 2 have none. */
  #returned(jid: string, minion: string, times: Times): void {
    this.#spans.recordSpan({
      name: 'gateway return',
      jid,
      part: `gateway.return.${minion}`,
      parentPart: `minion.${minion}`,
      ...times,
    });
  }

  #published(
    note: TraceNote & { readonly kind: 'publish' },
    { id, askers }: AnsweredRequest,
    times: Times,
  ): void {
    this.#spans.recordSpan({
      name: 'gateway publish',
      jid: note.jid,
      part: publishingPart('gateway.publish', note.piece),
      parentPart: note.askerTraces ? 'request' : undefined,
      ...times,
      attributes: { 'brine.request': id, 'brine.askers': askers },
      link: note.link,
    });
  }
}

interface Times {
  readonly startMs: number;
  readonly endMs: number;
}

/** The gateway's span of a request, from the worker's note; undefined if none is recorded. */
export function noteContext(trace: string | undefined, id: string): SpanContext | undefined {
  const note = trace === undefined ? undefined : readTraceNote(trace);
  if (note === undefined) return undefined;
  switch (note.kind) {
    case 'return':
      return ofJob(note.jid, `gateway.return.${note.minion}`);
    case 'publish':
      return ofJob(note.jid, publishingPart('gateway.publish', note.piece));
    default: {
      const spanId = requestSpanIdOf(id, `gateway.${note.kind}`);
      return { traceId: requestTraceIdOf(id), spanId };
    }
  }
}

function ofJob(jid: string, part: string): SpanContext {
  return { traceId: jobTraceId(jid), spanId: spanIdOf(jid as Jid, part) };
}
