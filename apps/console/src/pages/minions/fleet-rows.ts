import type { MinionShown } from '@brine/api/fleet';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueries, useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { FLEET_PAGE, fleetCountsQuery, fleetPageQuery } from '../../api/minions.ts';
import type { LiveMessage } from '../../live/message.ts';
import { usePolling, useTopic } from '../../live/use-live.ts';
import type { Source } from '../../parts/panel.tsx';
import { type FleetFilter, windowTopic } from '../../state/fleet/fleet-search.ts';
import {
  patchedPage,
  type PlacedRow,
  type RowsPage,
  SteadyRows,
} from '../../state/fleet/steady-rows.ts';

/** Another window is followed when the scrolling ends, ms. */
const SCROLL_MS = 300;

/** The first and the last row that are seen. */
export type Range = readonly [first: number, last: number];

/** The rows of the fleet that are seen, as they are now. */
export function useFleetRows(filter: FleetFilter, range: Range) {
  const [[first, last]] = useDebouncedValue(range, SCROLL_MS);
  const topic = windowTopic(filter, first, last);
  const refetchInterval = usePolling(topic);
  const counts = useQuery({ ...fleetCountsQuery(filter), refetchInterval });
  const pages = useQueries({
    queries: pagesOf(range).map((page) => ({ ...fleetPageQuery(filter, page), refetchInterval })),
    combine: joined,
  });
  // One bad topic has the whole stream refused: a filter is sent once the list has taken it.
  usePatches(filter, counts.isSuccess ? topic : undefined, pagesOf([first, last]));
  // Rows of another filter are none of this one.
  const name = JSON.stringify(filter);
  const steady = useMemo(() => newRows(name), [name]);
  useSyncExternalStore(steady.rows.watch, () => steady.rows.version);
  const total = counts.data?.total;
  useEffect(() => {
    if (total !== undefined) steady.rows.take(pages.rows, total);
  }, [steady, pages.rows, total]);
  return { counts, rows: steady.rows, pages: pages.source };
}

function newRows(name: string) {
  return { name, rows: new SteadyRows<MinionShown>(({ id }) => id) };
}

function pagesOf([first, last]: Range): readonly number[] {
  const from = Math.floor(first / FLEET_PAGE);
  const to = Math.floor(last / FLEET_PAGE);
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** What several pages have. */
interface Joined {
  readonly rows: readonly PlacedRow<MinionShown>[];
  readonly source: Source;
}

function joined(results: readonly UseQueryResult<RowsPage<MinionShown>>[]): Joined {
  return {
    rows: results.flatMap(({ data }) =>
      (data?.items ?? []).map((row, at) => ({ index: (data?.first ?? 0) + at, row })),
    ),
    source: {
      isPending: results.some(({ isPending }) => isPending),
      error: results.find(({ error }) => error !== null)?.error ?? null,
      data: results.every(({ data }) => data !== undefined) ? true : undefined,
      dataUpdatedAt: Math.min(...results.map(({ dataUpdatedAt }) => dataUpdatedAt)),
      refetch: async () => {
        await Promise.all(results.map(({ refetch }) => refetch()));
      },
    },
  };
}

/** Puts what the stream has into what was asked. */
function usePatches(
  filter: FleetFilter,
  topic: string | undefined,
  pages: readonly number[],
): void {
  const queries = useQueryClient();
  useTopic(topic, (message: LiveMessage) => {
    if (message.event === 'reset') {
      void queries.invalidateQueries({ queryKey: ['minions', filter] });
      return;
    }
    if (message.event !== 'rows') return;
    const { rows, counts } = message.data;
    const { total, facets } = counts;
    queries.setQueryData(fleetCountsQuery(filter).queryKey, (old) => ({
      total,
      facets: facets ?? old?.facets,
    }));
    const changed = rows.map(({ index, minion }) => ({ index, row: minion }));
    for (const page of pages) {
      const { queryKey } = fleetPageQuery(filter, page);
      const old = queries.getQueryData(queryKey);
      if (old === undefined) continue;
      const patched = patchedPage(old, changed, { size: FLEET_PAGE, total });
      if (patched === undefined) void queries.invalidateQueries({ queryKey });
      else queries.setQueryData(queryKey, { first: patched.first, items: [...patched.items] });
    }
  });
}

/** Ids that are chosen. */
export function useChosen() {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return useMemo(
    () => ({
      ids,
      has: (id: string) => ids.has(id),
      toggle: (id: string) => {
        const next = new Set(ids);
        if (!next.delete(id)) next.add(id);
        setIds(next);
      },
      set: (next: Iterable<string>) => setIds(new Set(next)),
      clear: () => setIds(new Set()),
    }),
    [ids],
  );
}
