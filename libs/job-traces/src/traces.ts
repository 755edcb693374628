import type { Sent } from '@brine/bus/jobs';
import type { IncomingRequest } from '@brine/bus/rpc';
import type { MasterOptions } from '@brine/config';
import type { Answer, AnswerAbout, ReturnToTrace } from '@brine/master';
import { nowMs, type Telemetry, TRACE_SHARES } from '@brine/telemetry';
import { AnswerSpans } from './answer-spans.ts';
import { JobTraces } from './job-traces.ts';

const TICK_MS = 1_000;

/** The traces of one worker. */
export interface WorkerTraces {
  /** True if the spans of a return are recorded. */
  readonly wants: (returned: ReturnToTrace) => boolean;
  /** Takes a publisher's report of a sending. */
  readonly sent: (sent: Sent) => void;
  /** Records the worker's part; returns the note for the gateway. */
  readonly note: (request: IncomingRequest, answer: Answer, startMs: number) => string | undefined;
  /** Records a publish that this worker made itself. */
  readonly own: (requestId: string, about: AnswerAbout | undefined, startMs: number) => void;
  readonly close: () => void;
}

/** Opens the traces of a worker by `brine.trace`. */
export function openTraces(
  telemetry: Pick<Telemetry, 'traces' | 'recordSpan'>,
  options: Pick<MasterOptions, 'brine'>,
  processId: string,
): WorkerTraces {
  const shares = TRACE_SHARES[options.brine.trace];
  const jobs = new JobTraces({
    sampling: shares.returns,
    traces: telemetry.traces,
    record: telemetry.recordSpan,
    processId,
    now: nowMs,
  });
  const answers = new AnswerSpans({
    jobs,
    ratios: shares.requests,
    traces: telemetry.traces,
    record: telemetry.recordSpan,
  });
  const timer = setInterval(() => jobs.tick(), TICK_MS);
  return {
    wants: jobs.wants,
    sent: (sent) => jobs.sent(sent),
    note: (request, answer, startMs) => answers.note(request, answer, startMs),
    own: (requestId, about, startMs) => answers.own(requestId, about, startMs),
    close: () => {
      clearInterval(timer);
      jobs.close();
    },
  };
}
