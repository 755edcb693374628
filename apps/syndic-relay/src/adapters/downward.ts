import type { BelowSettings, MasterBelow, PublishedBelow } from '@brine/syndic';
import { jobBelow } from '@brine/syndic';
import type { Log } from '@brine/tasks';
import type { PublishedJob } from '@brine/wire/load';

/** The outcome of jobs from above. */
export interface DownwardStats {
  readonly inHand: number;
  readonly published: number;
  /** No minion here matches. */
  readonly nobody: number;
  readonly refused: number;
  /** No worker took them in time, or too many were in flight. */
  readonly lost: number;
  /** This master's own jobs that came back. */
  readonly own: number;
}

/** Jobs that wait for a worker at once; further ones of a master above are lost. */
const IN_HAND_MAX = 1_000;

/** Publishes jobs of masters above here. */
export class Downward {
  readonly #below: MasterBelow;
  readonly #settings: BelowSettings;
  readonly #log: Log;
  readonly #counts = { published: 0, nobody: 0, refused: 0, away: 0, dropped: 0, own: 0 };
  #inHand = 0;

  constructor(below: MasterBelow, settings: BelowSettings, log: Log) {
    this.#below = below;
    this.#settings = settings;
    this.#log = log;
  }

  get stats(): DownwardStats {
    const { away, dropped, ...counts } = this.#counts;
    return { inHand: this.#inHand, ...counts, lost: away + dropped };
  }

  /** Takes a job of the master above with this token. */
  take(job: PublishedJob, token: string): void {
    const asked = jobBelow(job, token, this.#settings);
    if (asked === undefined) {
      this.#counts.own += 1;
      if (this.#counts.own > 1) return;
      this.#log.warn({ jid: job.jid }, 'a job with the master_id of this master is passed over');
      return;
    }
    if (this.#inHand >= IN_HAND_MAX) {
      this.#counts.dropped += 1;
      if (this.#counts.dropped > 1) return;
      this.#log.error({ jid: job.jid }, 'jobs from above are lost: too many wait for a worker');
      return;
    }
    this.#inHand += 1;
    void this.#below
      .publish(asked.request, asked.id)
      .then((outcome) => this.#count(outcome, job))
      .finally(() => (this.#inHand -= 1));
  }

  #count(outcome: PublishedBelow, job: PublishedJob): void {
    this.#counts[outcome] += 1;
    if (outcome !== 'away') return;
    this.#log.error({ jid: job.jid }, 'a job from above is lost: no worker took it in time');
  }
}
