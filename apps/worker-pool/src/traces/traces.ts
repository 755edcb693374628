import type { Sent } from '@brine/bus/jobs';
import type { IncomingRequest } from '@brine/bus/rpc';
import type { MasterOptions } from '@brine/config';
import type { Answer, ReturnToTrace } from '@brine/master';
import { nowMs, type Telemetry } from '@brine/telemetry';
import { AnswerSpans } from './answer-spans.ts';
import { JobTraces } from './job-traces.ts';

const TICK_MS = 1_000;

/** The traces of one worker. */
export interface WorkerTraces {
  /** Whether the spans of a return are recorded. */
  readonly wants: (returned: ReturnToTrace) => boolean;
  /** A publisher's word of a job that went out. */
  readonly sent: (sent: Sent) => void;
  /** Records the worker's part; what to tell the gateway of it. */
  readonly note: (request: IncomingRequest, answer: Answer, startMs: number) => string | undefined;
  readonly close: () => void;
}

/** Opens the traces of a worker by `brine.trace`. */
export function openTraces(
  telemetry: Pick<Telemetry, 'traces' | 'recordSpan'>,
  options: Pick<MasterOptions, 'brine'>,
  workerId: string,
): WorkerTraces {
  const { trace } = options.brine;
  const share = (ratio: number): number => (trace.enabled && trace.ratio > 0 ? ratio : 0);
  const jobs = new JobTraces({
    sampling: {
      first: trace.returnsFirst,
      failed: trace.returnsFailed,
      ratio: trace.returnsRatio,
    },
    traces: telemetry.traces,
    record: telemetry.recordSpan,
    workerId,
    now: nowMs,
  });
  const answers = new AnswerSpans({
    jobs,
    ratios: {
      login: share(trace.loginsRatio),
      pillar: share(trace.pillarsRatio),
      event: share(trace.eventsRatio),
      query: share(1),
    },
    traces: telemetry.traces,
    record: telemetry.recordSpan,
  });
  const timer = setInterval(() => jobs.tick(), TICK_MS);
  return {
    wants: jobs.wants,
    sent: (sent) => jobs.sent(sent),
    note: (request, answer, startMs) => answers.note(request, answer, startMs),
    close: () => {
      clearInterval(timer);
      jobs.close();
    },
  };
}
