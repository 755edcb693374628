import type { JobsPage } from '@brine/api/jobs';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
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

/** The newest jobs of a filter, to see which of them a list does not have. */
export function newestJobsQuery(filter: Query) {
  return queryOptions({
    queryKey: ['newest-jobs', filter],
    queryFn: ({ signal }) => ask<JobsPage>('/jobs', { query: { ...filter, limit: PAGE }, signal }),
    gcTime: 0,
  });
}
