import type { KeyAct, KeyActed, KeyShown, KeysPage } from '@brine/api/fleet';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { ask, type Query } from './ask.ts';

const PAGE = 100;
/** The API gives this many at once. */
const PAGE_MAX = 500;

/** Pages of keys, by id. */
export function keysQuery(filter: Query) {
  return infiniteQueryOptions({
    queryKey: ['keys', filter],
    queryFn: ({ pageParam, signal }) =>
      ask<KeysPage>('/keys', { query: { ...filter, limit: PAGE, after: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
}

/** The keys of one id. @param id undefined: nothing is asked */
export function keyQuery(id: string | undefined) {
  return queryOptions({
    queryKey: ['keys', 'of', id],
    queryFn: async ({ signal }) => {
      // An id may have signs that a pattern has.
      const { items } = await ask<KeysPage>('/keys', { query: { q: id, limit: PAGE_MAX }, signal });
      return items.find((one) => one.id === id) ?? null;
    },
    enabled: id !== undefined,
  });
}

/** All keys of a filter, up to some number. */
export async function allKeys(filter: Query, max: number): Promise<readonly KeyShown[]> {
  const found: KeyShown[] = [];
  let after: string | null = '';
  while (after !== null && found.length < max) {
    const query: Query = { ...filter, limit: PAGE_MAX, after };
    const { items, next }: KeysPage = await ask<KeysPage>('/keys', { query });
    found.push(...items);
    after = next;
  }
  return found.slice(0, max);
}

/** Acts on keys. @throws ApiError with the code `changed` and the count of now */
export function actOnKeys(body: KeyAct, idempotencyKey: string): Promise<KeyActed> {
  return ask('/keys/act', { body, idempotencyKey });
}
