/** Parameters of the page: those of `/v1/drift`. */
export const DRIFT_SEARCH = ['q', 'state', 'sort'] as const;

export type DriftSearch = { readonly [name in (typeof DRIFT_SEARCH)[number]]?: string };
