import type { MinionsPage } from '@brine/api/fleet';
import type { MasterFunctions } from '@brine/api/site';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';

/** Of each kind, at most. */
const FOUND_MAX = 6;

/** Minions with a word in their id. @param word undefined for none */
export function minionsLike(word: string | undefined) {
  return queryOptions({
    queryKey: ['minions-like', word],
    queryFn: ({ signal }) =>
      ask<MinionsPage>('/minions', { query: { q: word, limit: FOUND_MAX }, signal }),
    enabled: word !== undefined,
    placeholderData: keepPreviousData,
  });
}

/** Functions with a word in their name. @param word undefined for none */
export function functionsLike(word: string | undefined) {
  return queryOptions({
    queryKey: ['functions-like', word],
    queryFn: ({ signal }) =>
      ask<MasterFunctions>('/functions', { query: { q: word, limit: FOUND_MAX }, signal }),
    enabled: word !== undefined,
    placeholderData: keepPreviousData,
  });
}
