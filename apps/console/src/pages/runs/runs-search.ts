/** Parameters of the list of runs: those of `/v1/runs`. */
export const RUNS_SEARCH = ['client', 'fun', 'user', 'from', 'to'] as const;

export type RunsSearch = { readonly [name in (typeof RUNS_SEARCH)[number]]?: string };
