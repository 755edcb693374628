import type { Acted, ReactionFailures, Reactor, ReactorAct } from '@brine/api/runs';
import { queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';

/** Failures that are asked for. */
const FAILURES = 500;

/** Which files react to which tags. */
export const reactorQuery = queryOptions({
  queryKey: ['reactor'],
  queryFn: ({ signal }) => ask<Reactor>('/reactor', { signal }),
});

/** What a list of failures is asked for, besides a tag. */
export function failuresAsked(tag: string | undefined) {
  return { tag, limit: FAILURES };
}

/** Reactions that failed, newest first. */
export function failuresQuery(tag: string | undefined) {
  return queryOptions({
    queryKey: ['reactor', 'failures', tag],
    queryFn: ({ signal }) =>
      ask<ReactionFailures>('/reactor/failures', { query: failuresAsked(tag), signal }),
  });
}

/** Adds or deletes an entry. It has no name: where its answer is lost it is not sent again. */
export function actOnReactor(body: ReactorAct): Promise<Acted> {
  return ask('/reactor/act', { body });
}
