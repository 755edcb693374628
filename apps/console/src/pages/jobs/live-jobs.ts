import type { JobsPage } from '@brine/api/jobs';
import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { jobsQuery } from '../../api/jobs.ts';
import { useTopic } from '../../live/use-live.ts';
import type { LiveCounts } from '../../state/ledger.ts';
import type { JobsSearch } from './jobs-search.ts';

/** Unknown jobs that are counted, and jobs whose counts are remembered, at most. */
const JOBS_MAX = 10_000;
/** Messages of this time are drawn together, ms. */
const FRAME_MS = 200;

/** What a stream knows of the jobs of a list. */
interface LiveJobs {
  /** Jobs that began since, and are not in the list. */
  readonly began: number;
  readonly counts: ReadonlyMap<string, LiveCounts>;
}

/** Keeps the bars of a list up to date. Jobs that began since wait until `show`. */
export function useLiveJobs(filter: JobsSearch) {
  const queries = useQueryClient();
  const { queryKey } = jobsQuery(filter);
  // The counts stay beside what was asked: an answer of the job cache may be older than they are.
  const known = useRef({ fresh: new Set<string>(), counts: new Map<string, LiveCounts>() });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [live, setLive] = useState<LiveJobs>({ began: 0, counts: new Map() });
  useEffect(() => () => clearTimeout(timer.current), []);
  const draw = useCallback(() => {
    timer.current = undefined;
    const { fresh, counts } = known.current;
    setLive({ began: fresh.size, counts: new Map(counts) });
  }, []);
  const show = useCallback(() => {
    known.current.fresh.clear();
    draw();
    void queries.resetQueries({ queryKey });
  }, [queries, queryKey, draw]);
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
    const { fresh, counts: all } = known.current;
    if (counts !== null) put(all, jid, counts);
    if (!isListed && isNewer(jid, data) && fresh.size < JOBS_MAX) fresh.add(jid);
    timer.current ??= setTimeout(draw, FRAME_MS);
  });
  return { began: live.began, live: live.counts, show };
}

function put(all: Map<string, LiveCounts>, jid: string, counts: LiveCounts): void {
  all.delete(jid);
  all.set(jid, counts);
  if (all.size <= JOBS_MAX) return;
  const [oldest] = all.keys();
  if (oldest !== undefined) all.delete(oldest);
}

/** Jobs beyond the last page are no new ones. */
function isNewer(jid: string, { pages }: InfiniteData<JobsPage>): boolean {
  const newest = pages[0]?.items[0]?.jid;
  return newest === undefined || jid > newest;
}
