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

/** A publish under way. */
export interface Open {
  readonly hash: string;
  /** All peers that sent its bytes. */
  readonly askers: Asker[];
  /** The time it was read, by the monotonic clock. */
  readonly askedAt: number;
  /** The longest time that it may have been unread before, ms. */
  readonly lainMs: number;
  /** It may have been sent long before this gateway began. */
  readonly isEarly: boolean;
  /** Its bytes are unique to one command. */
  readonly named: boolean;
  /** The id of a failed try before it whose job a worker may have published. */
  readonly triedAs: string | undefined;
}

/** The outcome of a publish: a worker's answer, a failure, or a failure with a possible job. */
export type Settled = 'answered' | 'failed' | 'perhaps done';

/** The id of a publish, and the facts about it before it is sent. */
export interface Claimed {
  readonly id: string;
  /** A worker may have published the job. */
  readonly handed: boolean;
  /** A gateway before this one may have sent it to a worker: no worker could be asked. */
  readonly isUnsure: boolean;
  /** No worker has the id: another gateway would send the same bytes under another id. */
  readonly isUnremembered?: true;
}

/** Counts of repetitions. */
export interface SameBytesStats {
  readonly open: number;
  /** Byte-identical requests that joined one under way. */
  readonly joined: number;
  /** Requests whose id came from a dead gateway. */
  readonly resumed: number;
  /** Requests sent with an id that no worker remembers, because none could be asked. */
  readonly unremembered: number;
}

/** The interval of clock checks, and the gap that counts as a pause, ms. */
const PAUSES = { everyMs: 500, gapMs: 1_000 };

/** No cached time: right after a pause it would be an old one. */
const CLOCK = { perf: { now: () => performance.now() }, ttlResolution: 0 };

/**
 * Publishes with the same bytes are one job while a CLI may be sending them again. They join the
 * request under way, get its answer again, or reuse the id from a dead gateway. The times are in
 * {@link SAME_BYTES}.
 */
export class SameBytes {
  readonly #memory: RequestMemory;
  readonly #open = new Map<string, Open>();
  /** Answers for further tries. */
  readonly #answers = new LRUCache<string, Answer>({ max: SAME_BYTES.maxKept, ...CLOCK });
  /** The ids of requests whose answers were delivered. */
  readonly #delivered = new LRUCache<string, string>({
    max: SAME_BYTES.maxKept,
    ttl: SAME_BYTES.unheardMs,
    ...CLOCK,
  });
  /** The ids of failed requests that a worker may have carried out. */
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

  /**
   * Takes a request. Undefined if it joins one under way; an answer if these bytes had one already.
   */
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
   * The id to send the bytes under. Asks until there is an answer. A publish without a claim would
   * become a second job if this process dies and its CLI asks the next one.
   *
   * The worker that publishes could look the id up itself and save the round trip. But a gateway
   * without free workers must still know whether one before it passed the bytes on: only then it
   * may deny the job.
   *
   * @param until called for each try, as workers come and go
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
        // If no worker can be asked, none can publish, as a rule: NATS or all are unreachable.
        if (performance.now() + retryMs >= until()) break;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
        // On a starved host every answer would come too late, however often it asks.
        askMs = Math.min(askMs * 2, SAME_BYTES.askMostMs);
      }
    }
    this.#unremembered += 1; // Shown in the status.
    const isUnsure = performance.now() - this.#since < SAME_BYTES.unansweredMs;
    return { id: own, handed: triedAs !== undefined, isUnsure, isUnremembered: true };
  }

  /**
   * Settles a request with its answer. The returned function takes the number of peers that got it.
   * A worker's answer serves further tries too. After a failure with a possible job, further tries
   * ask for that job: a try may wait in the socket of a starved gateway until the first is given
   * up.
   */
  settle(open: Open, id: string, answer: Answer, settled: Settled): (delivered: number) => void {
    const { hash, askers, askedAt, lainMs, isEarly } = open;
    const isReply = settled === 'answered';
    if (settled === 'perhaps done') this.#perhaps.set(hash, id);
    else this.#perhaps.delete(hash);
    const keep = (ttl: number): void => {
      if (isReply) this.#answers.set(hash, answer, { ttl });
    };
    this.#open.delete(hash);
    keep(SAME_BYTES.untilKnownMs);
    return (delivered) => {
      this.#answers.delete(hash);
      const tookMs = performance.now() - askedAt + lainMs;
      const isSlow = isEarly || tookMs >= SAME_BYTES.slowMs;
      // If one of two tries had hung up, a third may be on its way.
      const isUnheard = delivered < askers.length;
      const keptMs = isUnheard ? SAME_BYTES.unheardMs : isSlow ? SAME_BYTES.slowKeptMs : 0;
      // From now on another gateway may continue the request.
      if (settled === 'perhaps done') this.#remember(hash, id, SAME_BYTES.unansweredMs);
      else if (delivered > 0) this.#remember(hash, id, isReply ? keptMs : 0);
      if (keptMs > 0) keep(keptMs);
      if (!isUnheard && settled !== 'perhaps done') this.#delivered.set(hash, id);
    };
  }

  /** Reports to the next gateway the delivered requests, whose answers end with this one. */
  async close(): Promise<void> {
    this.#pauses.close();
    // After a failure the same bytes count as another try of the same CLI, for a few seconds.
    const notes = [...this.#delivered.entries()].map(([hash, id]) =>
      this.#memory.delivered(hash, id),
    );
    await Promise.allSettled(notes);
  }

  #remember(hash: string, id: string, keptMs: number): void {
    this.#memory.answered(hash, id, keptMs).catch(() => {
      // The note stays "unanswered" for 20 s. Only another gateway could then repeat the request,
      // with the same bytes, and its CLI would get the jid of this job.
      this.#unremembered += 1;
    });
  }
}
