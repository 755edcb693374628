/** Parameters of the list of jobs: those of `/v1/jobs`. */
export const JOBS_SEARCH = [
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

export type JobsSearch = { readonly [name in (typeof JOBS_SEARCH)[number]]?: string };
