import type { RunDetail, RunsPage } from '@brine/api/runs';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { ask, pathOf, type Query } from './ask.ts';

const PAGE = 100;
/** How often a run that has not ended is asked for, ms. */
const AGAIN_MS = 2_000;

/** Pages of runs, newest first. */
export function runsQuery(filter: Query) {
  return infiniteQueryOptions({
    queryKey: ['runs', filter],
    queryFn: ({ pageParam, signal }) =>
      ask<RunsPage>('/runs', { query: { ...filter, limit: PAGE, after: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
}

/** One run; it is asked for again until it has ended. */
export function runQuery(jid: string) {
  return queryOptions({
    queryKey: ['run', jid],
    queryFn: ({ signal }) => ask<RunDetail>(`/runs${pathOf(jid)}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'ended' ? false : AGAIN_MS),
  });
}
