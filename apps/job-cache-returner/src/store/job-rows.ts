import type { Published } from '@brine/bus/jobs';
import type { DurableRow, JobRow } from '@brine/job-cache';

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
