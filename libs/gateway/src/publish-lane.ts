import { LIMITS, type RequestOutcome, type RequestToSend } from '@brine/bus/rpc';
import { FairShare } from '@brine/bus/share';
import { publishFailure } from './no-answer.ts';
import { addressOf, type Asker, type RequestMemory, type Workers } from './ports.ts';
import {
  type Answer,
  type Claimed,
  SameBytes,
  type SameBytesStats,
  type Settled,
} from './same-bytes.ts';

/** The answer to a publish, for all peers that sent the same bytes. */
export interface PublishAnswer extends Answer {
  readonly askers: readonly Asker[];
  /** To be called with the number of peers that got the answer. */
  readonly handed: (deliveredCount: number) => void;
}

/** The outcome of a publish. */
interface Delivered extends Claimed {
  readonly outcome: RequestOutcome;
}

function settledBy({ outcome, handed }: Delivered): Settled {
  if (outcome.kind === 'reply') return 'answered';
  return handed ? 'perhaps done' : 'failed';
}

/** Counts of the publish lane. */
export interface PublishLaneStats extends SameBytesStats {
  readonly failed: number;
  /** Publishes that wait while others of their user are under way. */
  readonly users: FairShare['stats'];
}

const NOT_SENT: RequestOutcome = { kind: 'expired', why: 'deadline', handed: false };

const { waitsMs, waitsInHopeMs, retryMs, share } = LIMITS.publish;

/** Publish requests: joined when byte-identical, answered in time during every outage. */
export class PublishLane {
  readonly #workers: Workers;
  readonly #sameBytes: SameBytes;
  readonly #users = new FairShare(share);
  #failed = 0;

  constructor(workers: Workers, memory: RequestMemory) {
    this.#workers = workers;
    this.#sameBytes = new SameBytes(memory);
  }

  get stats(): PublishLaneStats {
    return { ...this.#sameBytes.stats, failed: this.#failed, users: this.#users.stats };
  }

  /** Reports to the next gateway which answers were delivered. */
  close(): Promise<void> {
    return this.#sameBytes.close();
  }

  /** Resolves with the answer; undefined when the asker joined a request under way. */
  async send(
    id: string,
    body: Buffer,
    asker: Asker,
    user: string,
    { named = false, ...by }: Pick<RequestToSend, 'asker'> & { readonly named?: boolean } = {},
  ): Promise<PublishAnswer | undefined> {
    const asked = this.#sameBytes.ask(body, asker, named);
    if (asked === undefined) return undefined;
    if ('body' in asked) return { askers: [asker], ...asked, handed: () => undefined };
    const delivered = await this.#users.run(user, body.length, async () => {
      const claimed = await this.#sameBytes.claim(asked, id, () =>
        this.#claimsUntil(asked.askedAt),
      );
      // Workers exist, but none took the id. If it were sent nevertheless, its CLI could make a
      // second job at the next gateway.
      if (claimed.isUnremembered && this.#workers.expected)
        return { ...claimed, outcome: NOT_SENT };
      const sent = { class: 'clear', body, ...addressOf(asker), ...by } as const;
      return this.#deliver(claimed, sent, asked.askedAt);
    });
    const answer = this.#answer(delivered);
    const handed = this.#sameBytes.settle(asked, delivered.id, answer, settledBy(delivered));
    return { askers: asked.askers, ...answer, handed };
  }

  /**
   * While workers are expected, a claim without an answer shows that they or this process are slow.
   * Its CLI then asks the next gateway too, and without a claim there would be two jobs.
   */
  #claimsUntil(askedAt: number): number {
    return askedAt + (this.#workers.expected ? waitsInHopeMs : waitsMs);
  }

  /** Tries under the one id until an answer, the loss of all workers, or the time limit. */
  async #deliver(
    claimed: Claimed,
    sent: Pick<RequestToSend, 'class' | 'body' | 'asker' | 'peer'>,
    askedAt: number,
  ): Promise<Delivered> {
    const { id, isUnsure } = claimed;
    let { handed } = claimed;
    let until = askedAt + waitsMs;
    for (;;) {
      const deadlineMs = Date.now() + until - performance.now();
      const outcome = await this.#workers.send({ ...sent, id, deadlineMs });
      if (outcome.kind === 'drop' || (outcome.kind === 'expired' && outcome.handed)) handed = true;
      const again =
        outcome.kind === 'drop' || (outcome.kind === 'expired' && outcome.why === 'deadline');
      if (!again) return { id, handed, isUnsure, outcome };
      const now = performance.now();
      if (now >= until) {
        const isHopeless = !this.#workers.expected && !handed;
        if (isHopeless || now >= askedAt + waitsInHopeMs) return { id, handed, isUnsure, outcome };
        // Without workers now, it may soon turn out that none comes.
        const isThere = this.#workers.ready || handed;
        until = Math.min(askedAt + waitsInHopeMs, isThere ? Infinity : now + waitsMs);
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  #answer(delivered: Delivered): Answer {
    const { outcome } = delivered;
    if (outcome.kind === 'reply') {
      const { body, trace } = outcome;
      return trace === undefined ? { body } : { body, trace };
    }
    this.#failed += 1;
    return { body: publishFailure(outcome, delivered, this.#workers.ready) };
  }
}
