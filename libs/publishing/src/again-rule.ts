import type { Job } from '@brine/job';
import { appendField } from '@brine/wire';
import type { Publications, Unreturned } from './ports.ts';

/** Counts of the again rule. */
export interface AgainStats {
  /** How often subscribers had missed publications. */
  readonly windows: number;
  /** Jobs stored again, by this publisher or by another in the same slot. */
  readonly again: number;
  readonly failed: number;
}

/** The jobs to store again after subscribers missed some, and the times of the looks. */
export interface Window {
  /** Jobs stored at or after this time count, ms since 1970. */
  readonly fromMs: number;
  /** Delays of the looks from now. */
  readonly looksMs: readonly number[];
  /** True to open at once while another window is open, rather than after it. */
  readonly beside: boolean;
}

/**
 * A minion drops a jid that is among the last 100 it saw (Salt: `minion_jid_queue_hwm`). If a job
 * came again after more jobs than that, the minion would run it twice. 80 leaves a margin for
 * find_job and the like.
 */
export const MAX_LATER_JOBS = 80;
const MAX_PER_LOOK = 200;
/**
 * A repetition names its minions up to this number. The list goes to every subscriber, as any
 * publication does.
 */
export const MAX_NAMED = 100;
// Several publishers look at about the same time. The stream stores a job once per slot.
const SLOT_MS = 4_000;

/**
 * A repetition that was stored in time may be read late, behind jobs that were unread at the look.
 * Beyond this number of later jobs it is not sent.
 */
export const MAX_LATER_WHEN_SENT = MAX_LATER_JOBS + 15;

/**
 * A starting publisher reads the stream from this long ago and stores jobs of that time again.
 * Earlier publishers may have died before their own looks. A minion that restarted after it ran a
 * job would run it twice, so this is short for every `not_after`.
 */
export const READ_BACK_MS = 30_000;

/**
 * For a starting publisher: minions receive nothing for 1 to 11 s after they lost 4505. Minions
 * that connect before it opens count as a burst, whose window does not reach back as far.
 */
export function startWindow(nowMs: number): Window {
  return { fromMs: nowMs - READ_BACK_MS, looksMs: [3_000, 7_000, 12_000], beside: true };
}

/** For a burst of subscribers: they lost another publisher or the network up to 11 s ago. */
export function burstWindow(nowMs: number): Window {
  return { fromMs: nowMs - 12_000, looksMs: [1_000, 4_000, 11_000], beside: false };
}

/**
 * A PUB socket keeps nothing for absent peers, and stock minions receive nothing for 1 to 11 s
 * after a publisher went. So jobs of that time without a return are stored again in PUBLICATIONS
 * under the same jid. They go out with a new serial. A minion that ran the job drops it by its jid;
 * the others run it.
 *
 * If only few minions have not returned, the repetition names these alone: a minion that restarted
 * after its return remembers no jid and would run the job twice.
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
   * Looks at the times of the window. While an earlier window is open, a window that is not
   * `beside` waits for its end, for subscribers that came after its last look.
   */
  open(window: Window): void {
    if (this.#closed) return;
    const now = performance.now();
    if (now < this.#openUntil && !window.beside) {
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
    // A window opened beside this one is open for longer.
    if (window === undefined || performance.now() < this.#openUntil) return;
    this.#waiting = undefined;
    this.open(window);
  }

  /** Stores again the jobs since `fromMs` without all returns. Never rejects. */
  async look(fromMs: number): Promise<void> {
    const now = Date.now();
    const jobs = this.#jobs.since(fromMs).filter((job) => {
      const later = this.#jobs.count - job.index - 1;
      return !job.hidden && job.notAfter > now && later < MAX_LATER_JOBS;
    });
    if (jobs.length === 0) return;
    // If the store does not answer, all jobs are sent again, so that none is lost.
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
        // The stream is unreachable or full; the next look tries again.
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

/** A job that was read from the stream recently. */
export interface RecentJob {
  readonly jid: string;
  readonly seq: number;
  /** When the stream stored it, ms since 1970. */
  readonly timeMs: number;
  readonly notAfter: number;
  readonly hidden: boolean;
  /** The number of jobs read before it. */
  readonly index: number;
}

// More than a look considers: beyond MAX_LATER_JOBS none is sent again.
const MAX_JOBS = 5_000;

/**
 * The jobs that were read from the stream recently, sent or not. The stream has the whole jobs:
 * their lists of minions, kept here for minutes, would fill the old generation of the heap.
 */
export class RecentJobs {
  #jobs: RecentJob[] = [];
  #count = 0;

  /** Jobs noted since the start. */
  get count(): number {
    return this.#count;
  }

  note({ jid, notAfter, hidden }: Job, seq: number, timeUs: number): void {
    const timeMs = Math.floor(timeUs / 1000);
    this.#jobs.push({ jid, seq, timeMs, notAfter, hidden, index: this.#count });
    this.#count += 1;
    if (this.#jobs.length > MAX_JOBS) this.#jobs = this.#jobs.slice(-MAX_JOBS / 2);
  }

  /** Jobs stored at or after this time. */
  since(timeMs: number): readonly RecentJob[] {
    return this.#jobs.filter((job) => job.timeMs >= timeMs);
  }

  /** The number of jobs after the one at this sequence; Infinity if unknown here. */
  later(seq: number): number {
    const job = this.#jobs.findLast((one) => one.seq === seq);
    return job === undefined ? Infinity : this.#count - job.index - 1;
  }
}

/**
 * A single minion that restarts misses publications of a stock master too. Many connections at once
 * mean that a publisher or the network failed. A syndic stands for a fleet, so one is enough.
 */
const MIN_BURST = { minions: 3, syndics: 1 } as const;
const MIN_SHARE = 0.1;
const WITHIN_MS = 2_000;

/** Detects a burst of new subscribers. */
export class Burst {
  readonly #least: number;
  #since = 0;
  #count = 0;

  /** `syndics`: with `order_masters` each peer may stand for all minions of a master. */
  constructor(of: keyof typeof MIN_BURST) {
    this.#least = MIN_BURST[of];
  }

  /** Notes a new connection among `peers` present ones. True once per burst. */
  connected(nowMs: number, peers: number): boolean {
    if (nowMs - this.#since > WITHIN_MS) {
      this.#since = nowMs;
      this.#count = 0;
    }
    this.#count += 1;
    const enough = Math.max(this.#least, Math.ceil(peers * MIN_SHARE));
    return this.#count === enough;
  }
}

/** The same publication for these minions alone, without its target. */
export function listedFor(publication: Uint8Array, minions: readonly string[]): Buffer {
  return appendField(appendField(publication, 'tgt', [...minions]), 'tgt_type', 'list');
}

/**
 * A job for those of its minions that are in `waiting`. Undefined without any: each piece of a job
 * in pieces (`--batch`) has minions of its own.
 */
export function narrowed(job: Job, waiting: readonly string[]): Job | undefined {
  const own = new Set(job.minions);
  const minions = waiting.filter((id) => own.has(id));
  if (minions.length === 0) return undefined;
  const publication = listedFor(job.publication, minions);
  return { ...job, tgtType: 'list', minions, publication };
}
