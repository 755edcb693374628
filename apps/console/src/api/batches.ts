import type { BatchDetail, BatchesShown } from '@brine/api/runs';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { ask, pathOf } from './ask.ts';

/** How often batches that run are asked for, ms. */
const AGAIN_MS = 2_000;

/** More batches never run at once. */
const OPEN_MAX = 256;
const PAGE = 100;

/** The batches that run. */
export const batchesQuery = queryOptions({
  queryKey: ['batches', 'open'],
  queryFn: ({ signal }) => {
    const query = { state: 'open', limit: OPEN_MAX };
    return ask<BatchesShown>('/batches', { query, signal });
  },
  refetchInterval: AGAIN_MS,
});

/** Pages of batches that have ended, newest first. */
export const endedBatchesQuery = infiniteQueryOptions({
  queryKey: ['batches', 'ended'],
  queryFn: ({ pageParam, signal }) => {
    const query = { state: 'ended', limit: PAGE, after: pageParam };
    return ask<BatchesShown>('/batches', { query, signal });
  },
  initialPageParam: '',
  getNextPageParam: ({ next }) => next,
});

/** One batch; it is asked for again until it has ended. */
export function batchQuery(jid: string) {
  return queryOptions({
    queryKey: ['batch', jid],
    queryFn: ({ signal }) => ask<BatchDetail>(`/batches${pathOf(jid)}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.ended === true ? false : AGAIN_MS),
  });
}

/** What one may do with a batch that runs. */
export type BatchAct = 'pause' | 'resume' | 'stop';

/** @param kill with `stop`: also ends the job on minions that run it */
export function actOnBatch(jid: string, act: BatchAct, kill = false): Promise<void> {
  const given = act === 'stop' ? { body: { kill } } : {};
  return ask(`/batches${pathOf(jid, act)}`, { method: 'POST', ...given });
}
