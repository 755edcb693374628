import type { JobsPage } from '@brine/api/jobs';

/** Jobs that wait to be shown. */
export interface FreshJobs {
  readonly count: number;
  /** There are more than these. */
  readonly isMore: boolean;
}

export const NONE_FRESH: FreshJobs = { count: 0, isMore: false };
/** There may be some: they could not be counted. */
export const UNKNOWN_FRESH: FreshJobs = { count: 0, isMore: true };

/**
 * Jobs of a filter that are not in its list.
 * @param first the first page of the filter, as the server has it now
 */
export function freshJobs(first: JobsPage, listed: ReadonlySet<string>): FreshJobs {
  const count = first.items.filter(({ jid }) => !listed.has(jid)).length;
  return { count, isMore: count > 0 && count === first.items.length && first.next !== null };
}
