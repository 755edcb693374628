import type { Publications, Unreturned } from './ports.ts';
import type { RecentJobs } from './recent-jobs.ts';

/** Counts of the again rule. */
export interface AgainStats {
  /** Times at which subscribers were found to have been deaf. */
  readonly windows: number;
  /** Jobs stored again, by this publisher or by another for the same slot. */
  readonly again: number;
  readonly failed: number;
}

/** When jobs are stored again after subscribers were deaf, and which. */
export interface Window {
  /** Jobs stored at or after this time count, ms since 1970. */
  readonly fromMs: number;
  /** How long from now each look is. */
  readonly looksMs: readonly number[];
}

/**
 * A minion drops a jid that is among the last 100 it saw (Salt: `minion_jid_queue_hwm`); a job that
 * came again after more jobs than that would run twice. 80 leaves room for find_job and the like.
 */
export const MAX_LATER_JOBS = 80;
const MAX_PER_LOOK = 200;
/**
 * Up to so many minions are named in what is stored again; the list goes to every subscriber, as
 * any publication does.
 */
export const MAX_NAMED = 100;
// Several publishers look at about the same time; what they store within this is the same slot.
const SLOT_MS = 4_000;

/**
 * What was stored again in time may come to its turn late, behind jobs that nobody had read yet at
 * the look: then it is left out.
 */
export const MAX_LATER_WHEN_SENT = MAX_LATER_JOBS + 15;

// A publisher that died again before its looks has left its own deaf time to this one, and that may
// have begun with a third. A job whose `notAfter` has passed is not sent in any case.
const EARLIER_DEATHS_MS = 20_000;

/** A publisher that starts: minions hear nothing for 1 to 11 s after they lost 4505. */
export function startWindow(nowMs: number): Window {
  return { fromMs: nowMs - EARLIER_DEATHS_MS, looksMs: [3_000, 7_000, 12_000] };
}

/** Subscribers came in a burst: they lost another publisher, or the network, up to 11 s ago. */
export function burstWindow(nowMs: number): Window {
  return { fromMs: nowMs - 12_000, looksMs: [1_000, 4_000, 11_000] };
}

/**
 * A PUB keeps nothing for absent peers, and stock minions are deaf for 1 to 11 s after a publisher
 * went. So jobs of that time which are not returned are stored again in PUBLICATIONS, under the
 * same jid: they go out with a new serial, who ran them drops them by the jid, the others run them.
 * Where few have not returned it is for these alone: a minion that was restarted since its return
 * remembers no jid and would run it twice.
 */
export class AgainRule {
  readonly #jobs: RecentJobs;
  readonly #publications: Publications;
  readonly #unreturned: Unreturned;
  readonly #timers = new Set<NodeJS.Timeout>();
  #openUntil = 0;
  #waiting: Window | undefined;
  #closed = false;
  #windows = 0;
  #again = 0;
  #failed = 0;

  constructor(jobs: RecentJobs, publications: Publications, unreturned: Unreturned) {
    this.#jobs = jobs;
    this.#publications = publications;
    this.#unreturned = unreturned;
  }

  get stats(): AgainStats {
    return { windows: this.#windows, again: this.#again, failed: this.#failed };
  }

  /**
   * Looks at the times of the window; while an earlier one is open, only `beside` it: else once
   * that is over, for who came too late for its last look.
   */
  open(window: Window, { beside = false } = {}): void {
    if (this.#closed) return;
    const now = performance.now();
    if (now < this.#openUntil && !beside) {
      this.#waiting = window;
      return;
    }
    const lastMs = Math.max(...window.looksMs);
    this.#openUntil = now + lastMs;
    this.#windows += 1;
    for (const delayMs of window.looksMs) {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        void this.look(window.fromMs);
        if (delayMs === lastMs) this.#openWaiting();
      }, delayMs);
      this.#timers.add(timer);
    }
  }

  #openWaiting(): void {
    const window = this.#waiting;
    // One that was opened beside this is open for longer.
    if (window === undefined || performance.now() < this.#openUntil) return;
    this.#waiting = undefined;
    this.open(window);
  }

  /** Stores again what was stored since then and is not returned. Never rejects. */
  async look(fromMs: number): Promise<void> {
    const now = Date.now();
    const jobs = this.#jobs.since(fromMs).filter((job) => {
      const later = this.#jobs.count - job.index - 1;
      return !job.hidden && job.notAfter > now && later < MAX_LATER_JOBS;
    });
    if (jobs.length === 0) return;
    // A store that does not answer is no reason to lose a job: then all are sent again.
    const unreturned = await this.#unreturned(fromMs);
    const slot = String(Math.floor(now / SLOT_MS));
    for (const { jid, seq, notAfter } of jobs.slice(-MAX_PER_LOOK)) {
      const waiting = unreturned?.get(jid);
      if (unreturned !== undefined && waiting === undefined) continue;
      const named = waiting !== undefined && waiting.length <= MAX_NAMED ? { waiting } : {};
      try {
        await this.#publications.appendAgain({ jid, seq, notAfter, ...named }, { slot });
        this.#again += 1;
      } catch {
        // The stream is away or full; the next look tries again.
        this.#failed += 1;
      }
    }
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#closed = true;
  }
}
