import type { StreamData } from '@brine/api';
import type { LiveMessage } from '../../live/message.ts';
import type { LiveCounts } from '../../state/ledger.ts';

/** Minions of which one page remembers what a stream had. */
const MINIONS_MAX = 10_000;

/** A return as a stream has it. */
export type LiveReturn = StreamData['returns'][number];
/** The last state that ran on a minion. */
export type LiveProgress = StreamData['progress'];

/** What came of a job since its page was opened. */
export interface LiveJob {
  /** Undefined while no stream counts this job. */
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
      counts = message.data.counts ?? undefined;
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

function put<T>(map: Map<string, T>, id: string, value: T): void {
  map.set(id, value);
  if (map.size <= MINIONS_MAX) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
