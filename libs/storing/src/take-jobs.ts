import { setImmediate as turn } from 'node:timers/promises';
import type { JobMessage, Published } from '@brine/bus/jobs';
import { publishingPart } from '@brine/job';
import type { DurableRow, JobRow } from '@brine/job-cache';
import type { StoreContext } from './store-context.ts';

/** Jobs of one batch: with 100,000 targets each some 250 MB, so the statements are smaller. */
const MAX_JOBS = 100;

/**
 * Stores the job of each publication, reports it to the worker that waits for it, and acknowledges,
 * in this order, until the reader ends.
 */
export async function takeJobs(
  reader: AsyncIterable<Published>,
  context: StoreContext,
): Promise<void> {
  for await (const group of gather(reader, MAX_JOBS)) {
    const jobs: JobMessage[] = [];
    for (const published of group) {
      if (published.kind === 'job') jobs.push(published);
      else published.ack();
    }
    if (jobs.length > 0) await storeJobs(jobs, context);
  }
}

async function storeJobs(jobs: readonly JobMessage[], context: StoreContext): Promise<void> {
  const { cache, backoff, telemetry, counts } = context;
  const startMs = context.now();
  const rows = jobs.map(jobRow);
  const durable = jobs.filter(({ job }) => job.durable === true).map(durableRow);
  const report = await backoff.retry(async () => {
    const saved = await cache.saveJobs(rows);
    if (durable.length === 0) return saved;
    return { ...saved, refused: [...saved.refused, ...(await cache.durable.open(durable))] };
  });
  if (report === undefined) {
    for (const message of jobs) message.nak(0);
    return;
  }
  const endMs = context.now();
  const refused = new Set(report.refused.map((row) => row.jid));
  for (const message of jobs) {
    const { jid, hidden, piece } = message.job;
    if (!refused.has(jid)) message.written('store');
    message.ack();
    const attributes = { 'brine.rows': jobs.length, 'brine.hidden': hidden };
    telemetry.recordSpan({
      name: 'store job',
      jid,
      part: publishingPart('store-job', piece),
      parentPart: publishingPart('record', piece),
      startMs,
      endMs,
      attributes,
    });
  }
  counts.add('jobs', report, (endMs - startMs) / 1000);
}

/** The row of a published job. */
export function jobRow(published: JobMessage): JobRow {
  const { publication: _publication, durable: _durable, ...job } = published.job;
  const { incarnation, seq, subject } = published;
  return { ...job, incarnation, seq, subject };
}

/** The row of a job that is sent again to unreachable minions. */
export function durableRow({ job, incarnation, seq }: JobMessage): DurableRow {
  return { ...job, incarnation, seq };
}

/**
 * Groups items that are already available, without waiting for more: single items at low load, up
 * to `max` at high load. Ends with its source.
 */
export async function* gather<T>(
  source: AsyncIterable<T>,
  max: number,
): AsyncGenerator<readonly T[], void> {
  const iterator = source[Symbol.asyncIterator]();
  let next = iterator.next();
  for (;;) {
    const first = await next;
    if (first.done === true) return;
    const group = [first.value];
    next = iterator.next();
    while (group.length < max) {
      const more = await Promise.race([next, turn(undefined)]);
      if (more === undefined || more.done === true) break;
      group.push(more.value);
      next = iterator.next();
    }
    yield group;
  }
}
