import { useQuery, useQueryClient } from '@tanstack/react-query';
import { fleetCountsQuery } from '../../api/minions.ts';
import { usePolling, useTopic } from '../../live/use-live.ts';
import { windowTopic } from '../../state/fleet/fleet-search.ts';
import type { KeyCounts } from './keys-filter.tsx';

/** How many keys there are of each state, as it changes. */
export function useKeyCounts(): KeyCounts | undefined {
  const queries = useQueryClient();
  const query = fleetCountsQuery({});
  const topic = windowTopic({}, 0, 0);
  const counts = useQuery({ ...query, refetchInterval: usePolling(topic) });
  useTopic(topic, (message) => {
    if (message.event !== 'rows') return;
    const { total, facets } = message.data.counts;
    queries.setQueryData(query.queryKey, (old) => ({ total, facets: facets ?? old?.facets }));
  });
  return counts.data?.facets?.key;
}
