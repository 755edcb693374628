import { createHash } from 'node:crypto';
import { PauseWatch } from '@brine/bus';
import { LIMITS } from '@brine/bus/rpc';
import { SAME_BYTES } from '@brine/master-state';
import { LRUCache } from 'lru-cache';
import type { Asker, RequestMemory } from './ports.ts';

/** An answer, with the worker's note of its trace. */
export interface Answer {
  readonly body: Uint8Array;
  readonly trace?: string;
}

/** A publish that is under way. */
export interface Open {
  readonly hash: string;
  /** All peers that sent its bytes. */
  readonly askers: Asker[];
  /** When it was read, by the monotonic clock. */
  readonly askedAt: number;
  /** How long it may have lain unread before that, ms. */
  readonly lainMs: number;
  /** It may have been sent long before this gateway began. */
  readonly isEarly: boolean;
  /** Its bytes are those of one command. */
  readonly named: boolean;
  /** The id of a try before it that failed although a worker may have published its job. */
  readonly triedAs: string | undefined;
}

/** What came of a publish: a worker's answer, a failure, or one after which there may be a job. */
export type Settled = 'answered' | 'failed' | 'perhaps done';

/** The id that a publish goes under, and what is known of it before it is sent. */
export interface Claimed {
  readonly id: string;
  /** A worker may have published the job. */
  readonly handed: boolean;
  /** A gateway before this one may have handed it to a worker: no worker could be asked. */
  readonly isUnsure: boolean;
  /** No worker has the id: another gateway would send the same bytes under another one. */
  readonly isUnremembered?: true;
}

/** Counts of repetitions. */
export interface SameBytesStats {
  readonly open: number;
  /** Byte-identical requests that joined one under way. */
  readonly joined: number;
  /** Requests whose id came from a gateway that had died. */
  readonly resumed: number;
  /** Requests sent without their id being remembered, because no worker could be asked. */
  readonly unremembered: number;
}

/** How often the clock is looked at, and what counts as a pause, ms. */
const PAUSES = { everyMs: 500, gapMs: 1_000 };

/** No time is cached: right after a pause it would be one from before. */
const CLOCK = { perf: { now: () => performance.now() }, ttlResolution: 0 };

/**
 * Publishes with the same bytes are one job while a CLI may be sending them again. They join the
 * one under way, get its answer once more, or go under the id that a dead gateway gave them. The
 * times are in {@link SAME_BYTES}.
 */
export class SameBytes {
  readonly #memory: RequestMemory;
  readonly #open = new Map<string, Open>();
  /** Answers that a next try may ask for. */
  readonly #answers = new LRUCache<string, Answer>({ max: SAME_BYTES.maxKept, ...CLOCK });
  /** The ids of those whose answers were heard. */
  readonly #heard = new LRUCache<string, string>({
    max: SAME_BYTES.maxKept,
    ttl: SAME_BYTES.unheardMs,
    ...CLOCK,
  });
  /** The ids of those that failed although a worker may have done them. */
  readonly #perhaps = new LRUCache<string, string>({
    max: SAME_BYTES.maxKept,
    ttl: SAME_BYTES.unansweredMs,
    ...CLOCK,
  });
  readonly #since = performance.now();
  readonly #pauses = new PauseWatch(PAUSES);
  #joined = 0;
  #resumed = 0;
  #unremembered = 0;

  constructor(memory: RequestMemory) {
    this.#memory = memory;
  }

  get stats(): SameBytesStats {
    return {
      open: this.#open.size,
      joined: this.#joined,
      resumed: this.#resumed,
      unremembered: this.#unremembered,
    };
  }

  /** A request comes: undefined if it joins one under way; an answer if these bytes had theirs. */
  ask(body: Uint8Array, asker: Asker, named: boolean): Open | Answer | undefined {
    const hash = createHash('sha256').update(body).digest('hex');
    const under = this.#open.get(hash);
    if (under !== undefined) {
      this.#joined += 1;
      if (under.askers.length < SAME_BYTES.maxAskers) under.askers.push(asker);
      return undefined;
    }
    const answer = this.#answers.get(hash);
    if (answer !== undefined) {
      this.#joined += 1;
      return answer;
    }
    const askedAt = performance.now();
    const open: Open = {
      hash,
      askers: [asker],
      askedAt,
      lainMs: this.#pauses.lastedMs(SAME_BYTES.readAfterPauseMs),
      isEarly: askedAt - this.#since < SAME_BYTES.earlyMs,
      named,
      triedAs: this.#perhaps.get(hash),
    };
    this.#open.set(hash, open);
    return open;
  }

  /**
   * The id to send the bytes under. Asked for until there is an answer: what was published without
   * would be another job after the death of this process, when its CLI asks the next one.
   *
   * The worker that publishes could look the id up itself and save the round trip. But a gateway
   * whose workers have no room must still learn whether one before it handed the bytes over: only
   * then it may say that there is no job.
   *
   * `until`: asked for each time, as workers come and go.
   */
  async claim(open: Open, id: string, until: () => number): Promise<Claimed> {
    const { hash, isEarly, named, askedAt, lainMs, triedAs } = open;
    const { retryMs } = LIMITS.publish;
    const own = triedAs ?? id;
    let askMs: number = SAME_BYTES.askMs;
    for (;;) {
      try {
        const waitedMs = Math.round(performance.now() - askedAt + lainMs);
        const as = { early: isEarly, named, waitedMs };
        const known = await this.#memory.claim(hash, own, as, askMs);
        if (known !== own) this.#resumed += 1;
        return { id: known, handed: known !== id, isUnsure: false };
      } catch {
        // If no worker can be asked, none can publish, as a rule: NATS is away, or none is there.
        if (performance.now() + retryMs >= until()) break;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
        // On a starved host each answer would come too late, however often it is asked for.
        askMs = Math.min(askMs * 2, SAME_BYTES.askMostMs);
      }
    }
    this.#unremembered += 1; // Shown in the status.
    const isUnsure = performance.now() - this.#since < SAME_BYTES.unansweredMs;
    return { id: own, handed: triedAs !== undefined, isUnsure, isUnremembered: true };
  }

  /**
   * It has its answer; what is returned is to be called with how many were there to hear it. That
   * of a worker is the one for further tries too. Where there may be a job, further tries ask for
   * that one: a try can lie in the socket of a starved gateway until the first was given up.
   */
  settle(open: Open, id: string, answer: Answer, settled: Settled): (heard: number) => void {
    const { hash, askers, askedAt, lainMs, isEarly } = open;
    const isReply = settled === 'answered';
    if (settled === 'perhaps done') this.#perhaps.set(hash, id);
    else this.#perhaps.delete(hash);
    const keep = (ttl: number): void => {
      if (isReply) this.#answers.set(hash, answer, { ttl });
    };
    this.#open.delete(hash);
    keep(SAME_BYTES.untilKnownMs);
    return (heard) => {
      this.#answers.delete(hash);
      const tookMs = performance.now() - askedAt + lainMs;
      const isSlow = isEarly || tookMs >= SAME_BYTES.slowMs;
      // Of two tries at once the first had hung up: the third may be on its way just now.
      const isUnheard = heard < askers.length;
      const keptMs = isUnheard ? SAME_BYTES.unheardMs : isSlow ? SAME_BYTES.slowKeptMs : 0;
      // Another gateway takes it up too, from now on.
      if (settled === 'perhaps done') this.#remember(hash, id, SAME_BYTES.unansweredMs);
      else if (heard > 0) this.#remember(hash, id, isReply ? keptMs : 0);
      if (keptMs > 0) keep(keptMs);
      if (!isUnheard && settled !== 'perhaps done') this.#heard.set(hash, id);
    };
  }

  /** Tells what the next gateway may take for a request whose answer died with this one. */
  async close(): Promise<void> {
    this.#pauses.close();
    // After a failure the same bytes count as another try of the same CLI, for a few seconds.
    const notes = [...this.#heard.entries()].map(([hash, id]) => this.#memory.heard(hash, id));
    await Promise.allSettled(notes);
  }

  #remember(hash: string, id: string, keptMs: number): void {
    this.#memory.answered(hash, id, keptMs).catch(() => {
      // The note says "unanswered" for 20 s: only another gateway could take it up, with the same
      // bytes, and its CLI would get the jid of this job.
      this.#unremembered += 1;
    });
  }
}
