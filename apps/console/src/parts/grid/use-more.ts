import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { useCallback } from 'react';

type Pages = Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;

/**
 * What a grid needs to ask for more pages: a row after the loaded ones, and the request once that
 * row is seen.
 * @param loaded rows of all pages that are there
 */
export function useMore({ hasNextPage, isFetchingNextPage, fetchNextPage }: Pages, loaded: number) {
  const onRange = useCallback(
    (_first: number, last: number) => {
      if (last >= loaded && hasNextPage && !isFetchingNextPage) void fetchNextPage();
    },
    [loaded, hasNextPage, isFetchingNextPage, fetchNextPage],
  );
  return { total: loaded + (hasNextPage ? 1 : 0), onRange };
}
