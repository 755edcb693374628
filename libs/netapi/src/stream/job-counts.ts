import { parseTag } from '@brine/job';
import { listOf } from '@brine/wire';
import { hasFailed } from '@brine/wire/load';
import type { LiveEvent } from '../live/live-events.ts';

/** Minions of all jobs that are counted, some 100 bytes each, and jobs. */
const MINIONS_MAX = 300_000;
const JOBS_MAX = 5_000;

/** How far a job is. */
export interface LiveCounts {
  readonly targeted: number;
  readonly returned: number;
  readonly failed: number;
  readonly waiting: number;
}

type State = 'waiting' | 'returned' | 'failed';

interface Counted {
  readonly states: Map<string, State>;
  returned: number;
  failed: number;
}

/**
 * Counts the returns of jobs whose beginning was read. A job that began before is not counted: the
 * job cache knows its counts.
 */
export class JobCounts {
  readonly #jobs = new Map<string, Counted>();
  #minions = 0;

  /** Takes each event, before followers get it. */
  note(event: LiveEvent): void {
    if (event.kind !== 'job' && event.kind !== 'ret') return;
    const parsed = parseTag(event.tag);
    if (parsed.kind === 'job-new' && event.kind === 'job') this.#begin(parsed.jid, event);
    else if (parsed.kind === 'job-return') this.#return(parsed.jid, parsed.id, event);
  }

  /** Undefined for a job that is not counted. */
  of(jid: string): LiveCounts | undefined {
    const job = this.#jobs.get(jid);
    if (job === undefined) return undefined;
    const { states, returned, failed } = job;
    const targeted = states.size;
    return { targeted, returned, failed, waiting: targeted - returned - failed };
  }

  #begin(jid: string, event: LiveEvent): void {
    if (this.#jobs.has(jid)) return;
    const ids = listOf(event.data, 'minions') ?? [];
    if (ids.length > MINIONS_MAX) return;
    const states = new Map<string, State>();
    for (const id of ids) if (typeof id === 'string') states.set(id, 'waiting');
    this.#jobs.set(jid, { states, returned: 0, failed: 0 });
    this.#minions += states.size;
    for (const oldest of this.#jobs.keys()) {
      if (this.#minions <= MINIONS_MAX && this.#jobs.size <= JOBS_MAX) return;
      this.#minions -= this.#jobs.get(oldest)?.states.size ?? 0;
      this.#jobs.delete(oldest);
    }
  }

  /** The first return of a minion counts. */
  #return(jid: string, id: string, event: LiveEvent): void {
    const job = this.#jobs.get(jid);
    if (job?.states.get(id) !== 'waiting') return;
    const state = hasFailed(event.data) ? 'failed' : 'returned';
    job.states.set(id, state);
    job[state] += 1;
  }
}
