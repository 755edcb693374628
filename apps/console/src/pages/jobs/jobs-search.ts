/** What `/v1/jobs` selects by. */
const JOBS_FILTER = [
  'state',
  'result',
  'fun',
  'tgt',
  'user',
  'minion',
  'origin',
  'from',
  'to',
  'hidden',
] as const;

/** Parameters of the list of jobs. */
export const JOBS_SEARCH = [...JOBS_FILTER, 'columns'] as const;

export type JobsSearch = { readonly [name in (typeof JOBS_SEARCH)[number]]?: string };

/** The part of an address that the server knows. */
export function filterOf({ columns: _columns, ...filter }: JobsSearch): JobsSearch {
  return filter;
}
