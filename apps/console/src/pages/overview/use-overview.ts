import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { overviewQuery } from '../../api/overview.ts';
import { useTopic } from '../../live/use-live.ts';
import { useNow } from '../../parts/now.ts';
import { liveOverview, noReturns, withReturns } from './live-overview.ts';

/** The overview as of now, with the returns of each of the last seconds. */
export function useOverview() {
  const queries = useQueryClient();
  const overview = useQuery(overviewQuery);
  const [rate, setRate] = useState(() => noReturns(Date.now()));
  const nowMs = useNow();
  useTopic('overview', (message) => {
    const { queryKey } = overviewQuery;
    if (message.event === 'reset' || message.event === 'lag') {
      void queries.invalidateQueries({ queryKey });
      return;
    }
    if (message.event !== 'overview') return;
    const { data } = message;
    const at = Date.now();
    queries.setQueryData(queryKey, (old) => old && liveOverview(old, data, at));
    if (data.jobs.returns > 0) setRate((old) => withReturns(old, data.jobs.returns, at));
  });
  return { overview, perSecond: withReturns(rate, 0, nowMs).counts };
}
