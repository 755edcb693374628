import type { Published } from '@brine/bus/jobs';
import { publishingPart } from '@brine/job';
import type { DurableRow, JobRow } from '@brine/job-cache';
import type { StoreContext } from '../adapters/store-context.ts';
import { gather } from './gather.ts';

/** Jobs of one batch: with 100,000 targets each some 250 MB, so the statements are smaller. */
const MAX_JOBS = 100;

/**
 * Stores the job of each publication, tells who waits for it, and acknowledges, in this order,
 * until the reader ends.
 */
export async function takeJobs(
  reader: AsyncIterable<Published>,
  context: StoreContext,
): Promise<void> {
  for await (const group of gather(reader, MAX_JOBS)) {
    const jobs: PublishedJob[] = [];
    for (const published of group) {
      if (published.kind === 'job') jobs.push(published);
      else published.ack();
    }
    if (jobs.length > 0) await storeJobs(jobs, context);
  }
}

async function storeJobs(jobs: readonly PublishedJob[], context: StoreContext): Promise<void> {
  const { cache, hold, telemetry, counts } = context;
  const startMs = context.now();
  const rows = jobs.map(jobRow);
  const durable = jobs.filter(({ record }) => record.durable === true).map(durableRow);
  const report = await hold.until(async () => {
    const saved = await cache.saveJobs(rows);
    if (durable.length === 0) return saved;
    return { ...saved, refused: [...saved.refused, ...(await cache.durable.open(durable))] };
  });
  if (report === undefined) {
    for (const job of jobs) job.nak(0);
    return;
  }
  const endMs = context.now();
  const refused = new Set(report.refused.map((row) => row.jid));
  for (const job of jobs) {
    const { jid, hidden, piece } = job.record;
    if (!refused.has(jid)) job.written('store');
    job.ack();
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

/** A publication of a job. */
export type PublishedJob = Published & { readonly kind: 'job' };

/** The row of a published job. */
export function jobRow(published: PublishedJob): JobRow {
  const { publication: _publication, durable: _durable, ...record } = published.record;
  const { incarnation, seq, subject } = published;
  return { ...record, incarnation, seq, subject };
}

/** The row of a job that is to be sent again to minions that are away. */
export function durableRow({ record, incarnation, seq }: PublishedJob): DurableRow {
  return { ...record, incarnation, seq };
}
