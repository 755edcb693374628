import type { Job, JobsPage } from '@brine/api/jobs';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { ask, pathOf, type Query } from './ask.ts';

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

/** A job; with `at` as it was at that time. */
export function jobQuery(jid: string, at?: string) {
  return queryOptions({
    queryKey: ['job', jid, at],
    queryFn: ({ signal }) => ask<Job>(`/jobs${pathOf(jid)}`, { query: { at }, signal }),
  });
}
