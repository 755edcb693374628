import type { IncomingRequest } from '@brine/bus/rpc';
import { publishingPart } from '@brine/job';
import type { Answer, AnswerAbout } from '@brine/master';
import {
  isChosen,
  nowMs,
  packTraceNote,
  parseTraceparent,
  type RequestKind,
  type SpanRecord,
  traceparent,
} from '@brine/telemetry';
import type { JobTraces } from './job-traces.ts';

/** The connections of {@link AnswerSpans} to its worker. */
export interface AnswerSpansPorts {
  readonly jobs: JobTraces;
  /** The share of requests without a job that are traced, by kind. */
  readonly ratios: Readonly<Record<RequestKind, number>>;
  readonly traces: (jid: string) => boolean;
  readonly record: (span: SpanRecord) => void;
}

type Kind<K extends AnswerAbout['kind']> = AnswerAbout & { readonly kind: K };

/** Records the worker's part of answers, and notes for the gateway whether to record its own. */
export class AnswerSpans {
  readonly #ports: AnswerSpansPorts;

  constructor(ports: AnswerSpansPorts) {
    this.#ports = ports;
  }

  /** The note that goes with the answer; undefined if nothing is recorded. */
  note(request: IncomingRequest, answer: Answer, startMs: number): string | undefined {
    if (answer.kind !== 'reply' || answer.about === undefined) return undefined;
    const { about } = answer;
    switch (about.kind) {
      case 'return':
        return this.#returned(request, about, startMs);
      case 'publish':
        return this.#published(request, about, startMs);
      default:
        return this.#asked(request, about, startMs);
    }
  }

  #returned(request: IncomingRequest, about: Kind<'return'>, startMs: number): string | undefined {
    const { jid, minion, traced, failed, link } = about;
    const { jobs, record } = this.#ports;
    if (!traced) return undefined;
    jobs.returned(jid, minion, request.receivedMs ?? startMs);
    record({
      name: 'worker return',
      jid,
      part: `worker.return.${minion}`,
      parentPart: `gateway.return.${minion}`,
      startMs,
      endMs: nowMs(),
      link,
      error: failed ? 'the minion reports a failure' : undefined,
    });
    return packTraceNote({ kind: 'return', jid, minion });
  }

  #published(
    request: IncomingRequest,
    about: Kind<'publish'>,
    startMs: number,
  ): string | undefined {
    const { jid, piece, askerTraces = false } = about;
    if (!this.#ports.traces(jid)) return undefined;
    // Only a valid context is passed on, since the note has a limit.
    const context = parseTraceparent(about.link);
    const link = context === undefined ? undefined : traceparent(context);
    this.#ports.record({
      name: 'worker publish',
      jid,
      part: publishingPart('worker.publish', piece),
      parentPart: publishingPart('gateway.publish', piece),
      startMs,
      endMs: nowMs(),
      attributes: { 'brine.request': request.id },
      link,
    });
    return packTraceNote({ kind: 'publish', jid, piece, askerTraces, link });
  }

  /**
   * Records a publish without a gateway: a worker made it, for a batch or a runner. The span is the
   * root of its trace, unless the asking command records one.
   */
  own(requestId: string, about: AnswerAbout | undefined, startMs: number): void {
    if (about?.kind !== 'publish' || !this.#ports.traces(about.jid)) return;
    this.#ports.record({
      name: 'worker publish',
      jid: about.jid,
      part: publishingPart('worker.publish', about.piece),
      parentPart: about.askerTraces === true ? 'request' : undefined,
      startMs,
      endMs: nowMs(),
      attributes: { 'brine.request': requestId },
      link: about.link,
    });
  }

  #asked(request: IncomingRequest, about: Kind<RequestKind>, startMs: number): string | undefined {
    const { kind, minion, link } = about;
    if (!isChosen(request.id, this.#ports.ratios[kind])) return undefined;
    this.#ports.record({
      name: `worker ${kind}`,
      request: request.id,
      part: `worker.${kind}`,
      parentPart: `gateway.${kind}`,
      startMs,
      endMs: nowMs(),
      attributes: { 'salt.minion': minion },
      link,
    });
    return packTraceNote({ kind });
  }
}
