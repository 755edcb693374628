import type { JobLine, JobsPage } from '@brine/api/jobs';
import type { InfiniteData } from '@tanstack/react-query';

/** The clock of the master may be behind the browser's: it is asked a little later, ms. */
const AFTER_DEADLINE_MS = 500;
/** Then again, if it counts minions as awaited still, ms. */
const AGAIN_MS = 5_000;
const TRIES_MAX = 12;
/** Jobs that are asked for at once, at most. */
const AT_ONCE_MAX = 10;

/** Jobs of a list whose deadline is over, and when that is looked at again, ms from now. */
export interface DueJobs {
  readonly now: readonly string[];
  readonly nextMs: number | undefined;
}

/**
 * Jobs that must be asked for: their deadline is over, and minions are awaited still. No message
 * comes at a deadline. @param tries how often each was asked for
 */
export function dueJobs(
  jobs: readonly Pick<JobLine, 'jid' | 'deadline' | 'counts'>[],
  tries: ReadonlyMap<string, number>,
  nowMs: number,
): DueJobs {
  const times = jobs.flatMap(({ jid, deadline, counts }) => {
    const tried = tries.get(jid) ?? 0;
    if (deadline === null || counts.waiting === 0 || tried >= TRIES_MAX) return [];
    return [{ jid, leftMs: Date.parse(deadline) + AFTER_DEADLINE_MS + tried * AGAIN_MS - nowMs }];
  });
  const now = times.filter(({ leftMs }) => leftMs <= 0).slice(0, AT_ONCE_MAX);
  const later = times.filter(({ jid }) => !now.some((one) => one.jid === jid));
  return {
    now: now.map(({ jid }) => jid),
    nextMs: later.reduce<number | undefined>(
      (least, { leftMs }) => Math.max(0, Math.min(least ?? Infinity, leftMs)),
      undefined,
    ),
  };
}

type Jobs = InfiniteData<JobsPage>;

/** Puts what is known of a job by now in its row, which stays where it is. */
export function withJob(data: Jobs, { jid, counts, deadline }: JobLine): Jobs {
  const pages = data.pages.map((page) => ({
    ...page,
    items: page.items.map((job) => (job.jid === jid ? { ...job, counts, deadline } : job)),
  }));
  return { ...data, pages };
}
