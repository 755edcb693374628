import type { JobResult, LoadResult } from '../types.ts';

/** The result of a step. */
export type StepResult =
  | { readonly step: string; readonly load: LoadResult }
  | { readonly step: string; readonly job: JobResult };

const HEAD = [
  'step',
  'sent',
  'answered',
  'refused',
  'timed out',
  're-sent',
  'unsent',
  'seconds',
  'per second',
  'p50 ms',
  'p99 ms',
  'max ms',
  'rig µs',
];

/** True if everything was answered. */
export function isComplete(result: StepResult): boolean {
  if ('job' in result) {
    const { jid, targeted, acknowledged } = result.job;
    return jid !== undefined && acknowledged === targeted;
  }
  return result.load.answered === result.load.sent && result.load.sent > 0;
}

/** A table of all steps, with notes on jobs and on bottlenecks of the rig below it. */
export function drawResults(results: readonly StepResult[]): string {
  const loads = results.filter((result) => 'load' in result);
  const lines = loads.length === 0 ? [] : table([HEAD, ...loads.map(loadRow)]);
  for (const result of results) if ('job' in result) lines.push(...jobLines(result.job));
  for (const result of results) {
    const { bottleneck } = 'load' in result ? result.load : result.job;
    if (bottleneck !== undefined) {
      lines.push(`${result.step}: the rig itself was too slow (${bottleneck}); its figures say`);
      lines.push('  nothing of the master. More processes, fewer in flight, or another machine.');
    }
  }
  return `${lines.join('\n')}\n`;
}

function loadRow({ step, load }: StepResult & { load: LoadResult }): string[] {
  const counts = [load.sent, load.answered, load.refused, load.timedOut, load.resent, load.unsent];
  const times = [load.p50Ms, load.p99Ms, load.maxMs];
  return [
    step,
    ...counts.map(String),
    load.seconds.toFixed(1),
    load.perSecond.toFixed(1),
    ...times.map((ms) => ms.toFixed(1)),
    load.rigMicros.toFixed(0),
  ];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  '),
  );
}

function jobLines(job: JobResult): string[] {
  if (job.jid === undefined) return [`publish refused: ${job.error ?? 'no reason'}`];
  const { targeted, reached, returned, acknowledged, lost, resends } = job;
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  return [
    `job ${job.jid}: ${targeted} targeted, ${reached} reached, ${returned} returned, ` +
      `${acknowledged} acknowledged, ${lost} lost, ${resends} re-sends`,
    `  reply ${ms(job.replyMs)}, last reached ${ms(job.reachedLastMs)}, ` +
      `acknowledged p50 ${ms(job.p50)}, p99 ${ms(job.p99)}, last ${ms(job.lastAckMs)}`,
  ];
}
