import type { MinionsPage, Overview } from '@brine/api/fleet';
import type { BegunJob, JobsPage } from '@brine/api/jobs';
import { queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';

/** Services that came and went are in no message of the stream: asked again so often, ms. */
const AGAIN_MS = 30_000;

/** The fleet and its jobs in numbers, and the services of the master. */
export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: ({ signal }) => ask<Overview>('/overview', { signal }),
  refetchInterval: AGAIN_MS,
});

/** A job that failed is asked for again so often, ms. */
const FAILED_AGAIN_MS = 30_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Failed jobs of one look, at most. */
const FAILED_MAX = 100;

/** The newest jobs of the last hour that failed, and since when they were looked for. */
export const failedJobsQuery = queryOptions({
  queryKey: ['failed-jobs'],
  queryFn: async ({ signal }) => {
    const from = new Date(Date.now() - HOUR_MS).toISOString();
    const query = { result: 'failed', from, limit: FAILED_MAX };
    const { items } = await ask<JobsPage>('/jobs', { query, signal });
    return { from, jobs: items };
  },
  refetchInterval: FAILED_AGAIN_MS,
});

/** Whether there is a job of more than a day ago. */
export const isYoungQuery = queryOptions({
  queryKey: ['is-young'],
  queryFn: async ({ signal }) => {
    const to = new Date(Date.now() - DAY_MS).toISOString();
    const query = { to, hidden: true, limit: 1 };
    const { items, next } = await ask<JobsPage>('/jobs', { query, signal });
    return items.length === 0 && next === null;
  },
  staleTime: HOUR_MS,
});

/** When the last one of the minions that are not connected was lost. @param absent how many */
export function lastLostQuery(absent: number) {
  return queryOptions({
    queryKey: ['last-lost', absent],
    queryFn: async ({ signal }) => {
      const query = { present: 'false', key: 'accepted', sort: '-since', limit: 1 };
      const { items } = await ask<MinionsPage>('/minions', { query, signal });
      return items[0]?.since ?? null;
    },
  });
}

/** Runs `test.ping` on all minions. @param intent the same for the same click */
export function runPing(intent: string): Promise<BegunJob> {
  return ask('/jobs', { body: { tgt: '*', fun: 'test.ping' }, idempotencyKey: intent });
}
