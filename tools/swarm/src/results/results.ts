import type { PublishAnswer } from '../load/publish-request.ts';
import type { Answers } from '../messages.ts';
import { noCounts } from '../minions/surroundings.ts';
import type { JobResult, LoadResult, ProcessStats, SwarmStats } from '../types.ts';
import { bottleneckOf } from './effort.ts';
import { Latencies } from './latencies.ts';

/** Joins the results of the processes for one storm. */
export function loadResult(answers: readonly Answers['load'][]): LoadResult {
  const reports = answers.map(({ report }) => report);
  const sum = (pick: (report: (typeof reports)[number]) => number): number =>
    reports.reduce((total, report) => total + pick(report), 0);
  const latencies = new Latencies();
  for (const report of reports) latencies.merge(report.latencies);
  const firstMs = Math.min(...reports.map((report) => report.firstMs));
  const lastMs = Math.max(...reports.map((report) => report.lastMs));
  const seconds = Math.max(0, lastMs - firstMs) / 1000;
  const answered = sum((report) => report.answered);
  const sent = sum((report) => report.sent);
  const cpuMs = answers.reduce((total, { effort }) => total + effort.cpuMs, 0);
  return {
    sent,
    answered,
    refused: sum((report) => report.refused),
    timedOut: sum((report) => report.timedOut),
    resent: sum((report) => report.resent),
    unsent: sum((report) => report.unsent),
    seconds,
    perSecond: seconds > 0 ? answered / seconds : 0,
    p50Ms: latencies.percentile(0.5),
    p99Ms: latencies.percentile(0.99),
    maxMs: latencies.maxMs,
    rigMicros: sent > 0 ? (cpuMs * 1000) / sent : 0,
    ...bottleneck(answers),
  };
}

/** Joins the results of the processes for one job. */
export function jobResult(job: {
  readonly answer: PublishAnswer;
  readonly sinceMs: number;
  readonly repliedMs: number;
  readonly targeted: number;
  readonly parts: readonly Answers['follow'][];
}): JobResult {
  const reports = job.parts.flatMap(({ report }) => (report === undefined ? [] : [report]));
  const sum = (pick: (report: (typeof reports)[number]) => number): number =>
    reports.reduce((total, report) => total + pick(report), 0);
  const since = (pick: (report: (typeof reports)[number]) => number): number =>
    Math.max(0, ...reports.map((report) => pick(report) - job.sinceMs));
  const latencies = new Latencies();
  for (const report of reports) latencies.merge(report.latencies);
  return {
    jid: job.answer.jid,
    ...(job.answer.error === undefined ? {} : { error: job.answer.error }),
    targeted: job.targeted,
    reached: sum((report) => report.reached),
    reachedLastMs: since((report) => report.reachedLast),
    replyMs: job.repliedMs - job.sinceMs,
    returned: sum((report) => report.returned),
    acknowledged: sum((report) => report.acknowledged),
    lost: sum((report) => report.lost),
    resends: sum((report) => report.resends),
    lastAckMs: since((report) => report.ackedLast),
    p50: latencies.percentile(0.5),
    p99: latencies.percentile(0.99),
    ...bottleneck(job.parts),
  };
}

/** Adds up the processes. */
export function statsOf(processes: readonly ProcessStats[]): SwarmStats {
  const total = { ...noCounts(), cpuMs: 0, rssBytes: 0 };
  for (const one of processes) {
    for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += one[key];
  }
  const efforts = processes.map((one) => ({ ...one, wallMs: Infinity }));
  return { processes, total, bottleneck: bottleneckOf(efforts) };
}

function bottleneck(parts: readonly Pick<Answers['load'], 'effort'>[]): { bottleneck?: string } {
  const text = bottleneckOf(parts.map(({ effort }) => effort));
  return text === undefined ? {} : { bottleneck: text };
}
