import type { StreamData } from '@brine/api';
import type { LiveMessage } from '../../live/message.ts';
import { type LiveCounts, mostCounts } from '../../state/ledger.ts';

/** Minions of which one page remembers what a stream had. */
const MINIONS_MAX = 10_000;

/** A return as a stream has it. */
export type LiveReturn = StreamData['returns'][number];
/** The last state that ran on a minion. */
export type LiveProgress = StreamData['progress'];

/** What came of a job since its page was opened. */
export interface LiveJob {
  /** Undefined while no stream has counted this job. */
  readonly counts: LiveCounts | undefined;
  /** Returns that came, by their minions. */
  readonly returns: ReadonlyMap<string, LiveReturn>;
  /** Minions that run states now. */
  readonly progress: ReadonlyMap<string, LiveProgress>;
}

export const NOTHING_LIVE: LiveJob = {
  counts: undefined,
  returns: new Map(),
  progress: new Map(),
};

/** Takes messages of the topic of a job. */
export function takeLive(job: LiveJob, jid: string, messages: readonly LiveMessage[]): LiveJob {
  const returns = new Map(job.returns);
  const progress = new Map(job.progress);
  let { counts } = job;
  for (const message of messages) {
    if (message.event === 'job' && message.data.jid === jid) {
      counts = mostCounts(counts, message.data.counts);
    } else if (message.event === 'progress' && message.data.jid === jid) {
      if (!returns.has(message.data.id)) put(progress, message.data.id, message.data);
    } else if (message.event === 'returns') {
      for (const one of message.data) {
        if (one.jid !== jid) continue;
        // The first return of a minion counts.
        if (!returns.has(one.id)) put(returns, one.id, one);
        progress.delete(one.id);
      }
    }
  }
  return { counts, returns, progress };
}

/**
 * The counts of a job with those apart that came after its deadline.
 * @param sinceMs returns are known by their times since then, ms of the epoch
 */
export function countsByDeadline(
  { counts, returns }: LiveJob,
  deadline: string | null,
  sinceMs: number,
): LiveCounts | undefined {
  const deadlineMs = deadline === null ? Infinity : Date.parse(deadline);
  // What came in between may be late too.
  if (counts === undefined || sinceMs > deadlineMs) return counts;
  const late = { returned: 0, failed: 0 };
  for (const { state, at } of returns.values()) if (Date.parse(at) > deadlineMs) late[state] += 1;
  return {
    targeted: counts.targeted,
    returned: Math.max(0, counts.returned - late.returned),
    failed: Math.max(0, counts.failed - late.failed),
    late: Math.min(late.returned + late.failed, counts.returned + counts.failed),
  };
}

function put<T>(map: Map<string, T>, id: string, value: T): void {
  map.set(id, value);
  if (map.size <= MINIONS_MAX) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
