import type { JobsPage } from '@brine/api/jobs';
import { infiniteQueryOptions } from '@tanstack/react-query';
import { ask, type Query } from './ask.ts';

const PAGE = 100;

/** Pages of jobs, newest first. */
export function jobsQuery(filter: Query) {
  return infiniteQueryOptions({
    queryKey: ['jobs', filter],
    queryFn: ({ pageParam, signal }) =>
      ask<JobsPage>('/jobs', { query: { ...filter, limit: PAGE, after: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
}
