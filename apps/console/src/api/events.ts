import type { Events, EventShown } from '@brine/api';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { ask, pathOf, type Query } from './ask.ts';

const PAGE = 500;
/** What has happened stays as it is. */
const FOREVER = { staleTime: Infinity, refetchOnWindowFocus: false, refetchOnReconnect: false };

/** Pages of events, oldest first. @param from where to begin: a time, an age, a position */
export function eventsQuery(filter: Query, from: string) {
  return infiniteQueryOptions({
    queryKey: ['events', filter, from],
    queryFn: ({ pageParam, signal }) => askEvents(filter, pageParam, signal),
    initialPageParam: from,
    getNextPageParam: ({ next }) => next,
    ...FOREVER,
  });
}

/** One page of events after a place. */
export function askEvents(filter: Query, from: string, signal?: AbortSignal): Promise<Events> {
  const query = { ...filter, from, limit: PAGE };
  return ask('/events', { query, ...(signal === undefined ? {} : { signal }) });
}

/** Where the whole body of an event is. */
export function eventPath(position: string): string {
  return `/events${pathOf(position)}`;
}

/** An event with its whole body. @param stream of which of the two streams it is */
export function eventQuery(position: string, stream: string) {
  return queryOptions({
    queryKey: ['event', position, stream],
    queryFn: ({ signal }) => ask<EventShown>(eventPath(position), { query: { stream }, signal }),
    ...FOREVER,
  });
}
