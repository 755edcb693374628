import type { BegunJob } from '@brine/api/jobs';
import type { AuditPage, RunDetail } from '@brine/api/runs';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { ask, pathOf, type Query } from './ask.ts';

const PAGE = 100;
/** A check of all seals is asked about so often while it runs, ms. */
const CHECK_MS = 1_000;

/** Pages of acts on record, newest first. Each request is itself an act. */
export function auditQuery(filter: Query) {
  return infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam, signal }) =>
      ask<AuditPage>('/audit', { query: { ...filter, limit: PAGE, after: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
}

/** A page of acts for a file. */
export function auditPage(filter: Query, limit: number, after: string): Promise<AuditPage> {
  return ask('/audit', { query: { ...filter, limit, after } });
}

/** Begins a check of the seals of all acts. @param intent the same for the same click */
export function checkSeals(intent: string): Promise<BegunJob> {
  return ask('/audit/verify', { method: 'POST', idempotencyKey: intent });
}

/** The check, until it has ended. */
export function sealCheckQuery(jid: string | undefined) {
  return queryOptions({
    queryKey: ['seal-check', jid],
    queryFn: ({ signal }) => ask<RunDetail>(`/runs${pathOf(jid ?? '')}`, { signal }),
    enabled: jid !== undefined,
    refetchInterval: ({ state }) => (state.data?.state === 'ended' ? false : CHECK_MS),
    staleTime: CHECK_MS,
  });
}
