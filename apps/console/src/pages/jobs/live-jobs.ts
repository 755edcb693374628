import type { JobLine, JobsPage } from '@brine/api/jobs';
import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useCallback, useRef, useState } from 'react';
import { jobsQuery } from '../../api/jobs.ts';
import type { LiveMessage } from '../../live/message.ts';
import { useTopic } from '../../live/use-live.ts';
import { liveLedger } from '../../state/ledger.ts';
import type { JobsSearch } from './jobs-search.ts';

/** Unknown jobs that are counted, at most. */
const BEGAN_MAX = 10_000;

/** Keeps the bars of a list up to date. Jobs that began since wait until `show`. */
export function useLiveJobs(search: JobsSearch) {
  const queries = useQueryClient();
  const { queryKey } = jobsQuery(search);
  const fresh = useRef(new Set<string>());
  const [began, setBegan] = useState(0);
  const show = useCallback(() => {
    fresh.current.clear();
    setBegan(0);
    void queries.resetQueries({ queryKey });
  }, [queries, queryKey]);
  useTopic('jobs', (message) => {
    if (message.event === 'reset' || message.event === 'lag') {
      void queries.invalidateQueries({ queryKey });
      return;
    }
    if (message.event !== 'job') return;
    const { jid, counts } = message.data;
    const data = queries.getQueryData<InfiniteData<JobsPage>>(queryKey);
    if (data === undefined) return;
    const isListed = data.pages.some(({ items }) => items.some((job) => job.jid === jid));
    if (isListed && counts !== null) {
      queries.setQueryData(queryKey, withCounts(data, message.data));
    } else if (!isListed && isNewer(jid, data) && fresh.current.size < BEGAN_MAX) {
      setBegan(fresh.current.add(jid).size);
    }
  });
  return { began, show };
}

/** Jobs beyond the last page are no new ones. */
function isNewer(jid: string, { pages }: InfiniteData<JobsPage>): boolean {
  const newest = pages[0]?.items[0]?.jid;
  return newest === undefined || jid > newest;
}

function withCounts<Pages extends InfiniteData<JobsPage>>(
  data: Pages,
  { jid, counts }: (LiveMessage & { event: 'job' })['data'],
): Pages {
  const patch = (job: JobLine): JobLine =>
    job.jid === jid && counts !== null ? { ...job, counts: liveLedger(job.counts, counts) } : job;
  const pages = data.pages.map((page) =>
    page.items.some((job) => job.jid === jid) ? { ...page, items: page.items.map(patch) } : page,
  );
  return { ...data, pages };
}
