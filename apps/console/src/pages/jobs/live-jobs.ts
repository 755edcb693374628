import type { Job, JobLine, JobsPage } from '@brine/api/jobs';
import { type InfiniteData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { jobQuery } from '../../api/job.ts';
import { jobsQuery, newestJobsQuery } from '../../api/jobs.ts';
import { useTopic } from '../../live/use-live.ts';
import { UNCOUNTED_MS, useSoon } from '../../live/use-soon.ts';
import { type LiveCounts, liveLedger, mostCounts } from '../../state/ledger.ts';
import { dueJobs, withJob } from './due-jobs.ts';
import { type FreshJobs, freshJobs, NONE_FRESH, UNKNOWN_FRESH } from './fresh-jobs.ts';
import type { JobsSearch } from './jobs-search.ts';

/** Jobs whose counts are remembered, at most. */
const JOBS_MAX = 10_000;
/** Messages of this time are drawn together, ms. */
const FRAME_MS = 200;
/** How often the server is asked which jobs are new for the filter of a list, ms. */
const LOOK_MS = 2_000;
/** The job cache may be behind the stream: after the last message it is asked once more, ms. */
const LAST_LOOK_MS = 6_000;

/** A timer of a browser can not be longer than 24 days. */
const DAY_MS = 86_400_000;

type Jobs = InfiniteData<JobsPage>;

/** A list of jobs that is up to date, and the jobs that wait beside it. */
interface LiveJobs {
  readonly rows: readonly JobLine[];
  readonly fresh: FreshJobs;
  /** Puts the new jobs in the list. */
  readonly show: () => void;
}

/** Keeps the rows of a list up to date. Jobs that the list does not have wait until `show`. */
export function useLiveJobs(filter: JobsSearch, data: Jobs | undefined): LiveJobs {
  const queries = useQueryClient();
  const { queryKey } = jobsQuery(filter);
  const asked = useMemo(() => data?.pages.flatMap(({ items }) => items) ?? [], [data]);
  const listed = useMemo(() => new Set(asked.map(({ jid }) => jid)), [asked]);
  const { fresh, look, forget } = useFreshJobs(filter, data === undefined ? undefined : listed);
  // The counts stay beside what was asked: an answer of the job cache may be older than they are.
  const known = useRef(new Map<string, LiveCounts>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [live, setLive] = useState<ReadonlyMap<string, LiveCounts>>(new Map());
  useEffect(() => () => clearTimeout(timer.current), []);
  const show = useCallback(() => {
    forget();
    void queries.resetQueries({ queryKey });
  }, [queries, queryKey, forget]);
  const uncounted = useRef(new Set<string>());
  const askSoon = useSoon(() => {
    for (const jid of uncounted.current) {
      const asked = queries.fetchQuery({ ...jobQuery(jid), staleTime: 0 });
      // The row of one that can not be asked now stays as it is, until its next message.
      void asked.then(
        (job) => queries.setQueryData<Jobs>(queryKey, (old) => old && withJob(old, job)),
        () => undefined,
      );
    }
    uncounted.current.clear();
  }, UNCOUNTED_MS);
  useTopic('jobs', (message) => {
    if (message.event === 'reset' || message.event === 'lag') {
      void queries.invalidateQueries({ queryKey });
      return;
    }
    if (message.event !== 'job') return;
    const { jid, counts } = message.data;
    if (!listed.has(jid)) look();
    // A stream that began after a job does not count it.
    if (counts === null && listed.has(jid)) {
      uncounted.current.add(jid);
      askSoon();
    }
    const most = mostCounts(known.current.get(jid), counts);
    if (most === undefined) return;
    put(known.current, jid, most);
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      setLive(new Map(known.current));
    }, FRAME_MS);
  });
  const rows = useMemo(() => asked.map((job) => withLive(job, live)), [asked, live]);
  useDeadlines(rows, (job) =>
    queries.setQueryData<Jobs>(queryKey, (old) => old && withJob(old, job)),
  );
  return { rows, fresh, show };
}

function withLive(job: JobLine, live: ReadonlyMap<string, LiveCounts>): JobLine {
  const counts = live.get(job.jid);
  return counts === undefined ? job : { ...job, counts: liveLedger(job.counts, counts) };
}

function put(all: Map<string, LiveCounts>, jid: string, counts: LiveCounts): void {
  all.delete(jid);
  all.set(jid, counts);
  if (all.size <= JOBS_MAX) return;
  const [oldest] = all.keys();
  if (oldest !== undefined) all.delete(oldest);
}

/**
 * Asks which jobs are new for a filter. A message has the jid of a job, not what a filter is
 * about: only the server knows whether the job belongs here.
 * @param listed undefined while the list is not there
 */
function useFreshJobs(filter: JobsSearch, listed: ReadonlySet<string> | undefined) {
  const [isAsked, setAsked] = useState(false);
  const { data, error, refetch } = useQuery({ ...newestJobsQuery(filter), enabled: false });
  const soon = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef<ReturnType<typeof setTimeout>>(undefined);
  const stop = useCallback(() => {
    clearTimeout(soon.current);
    clearTimeout(last.current);
    soon.current = undefined;
  }, []);
  useEffect(() => stop, [stop, filter]);
  const look = useCallback(() => {
    const ask = (): void => {
      setAsked(true);
      void refetch();
    };
    soon.current ??= setTimeout(() => {
      soon.current = undefined;
      ask();
    }, LOOK_MS);
    clearTimeout(last.current);
    last.current = setTimeout(ask, LAST_LOOK_MS);
  }, [refetch]);
  const forget = useCallback(() => setAsked(false), []);
  const fresh = useMemo(() => {
    if (!isAsked || listed === undefined) return NONE_FRESH;
    if (error !== null) return UNKNOWN_FRESH;
    return data === undefined ? NONE_FRESH : freshJobs(data, listed);
  }, [isAsked, data, error, listed]);
  return { fresh, look, forget };
}

/** Asks for each job of a list once its deadline is over. */
function useDeadlines(rows: readonly JobLine[], known: (job: Job) => void): void {
  const queries = useQueryClient();
  const tries = useRef(new Map<string, number>());
  const [round, setRound] = useState(0);
  const latest = useRef(known);
  useEffect(() => {
    latest.current = known;
  });
  useEffect(() => {
    const { now, nextMs } = dueJobs(rows, tries.current, Date.now());
    const again = (): void => setRound((before) => before + 1);
    for (const jid of now) {
      tries.current.set(jid, (tries.current.get(jid) ?? 0) + 1);
      const asked = queries.fetchQuery({ ...jobQuery(jid), staleTime: 0 });
      // One that can not be asked now is due again a little later.
      void asked.then((job) => latest.current(job)).then(again, again);
    }
    if (nextMs === undefined) return undefined;
    const timer = setTimeout(again, Math.min(nextMs, DAY_MS));
    return () => clearTimeout(timer);
  }, [queries, rows, round]);
}
