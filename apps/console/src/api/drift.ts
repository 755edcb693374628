import type { DriftPage } from '@brine/api/fleet';
import { infiniteQueryOptions } from '@tanstack/react-query';
import { ask, type Query } from './ask.ts';

const PAGE = 200;

/** Pages of minions by how they stand to their states. */
export function driftPages(filter: Query) {
  return infiniteQueryOptions({
    queryKey: ['drift', filter],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...filter, facets: true, limit: PAGE, after: pageParam };
      return ask<DriftPage>('/drift', { query, signal });
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
}
