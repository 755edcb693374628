import { createHash } from 'node:crypto';
import { PauseWatch } from '@brine/bus';
import { LIMITS, type RequestOutcome, type RequestToSend } from '@brine/bus/rpc';
import { REQUEST_MEMORY_MS, REQUEST_UNHEARD_MS } from '@brine/master-state';
import { mapOf, pack } from '@brine/wire';
import { FairShare } from './fair-share.ts';
import { addressOf, type Asker, type RequestMemory, type Workers } from './ports.ts';
import { stalledText } from './stalled-texts.ts';

/** One publish that is under way, and all who wait for its answer. */
interface OpenPublish {
  readonly askers: Asker[];
}

/** What became of a publish: the answer, for all who asked with the same bytes. */
export interface PublishAnswer {
  readonly askers: readonly Asker[];
  readonly body: Uint8Array;
  readonly trace?: string;
  /** To be called once it is known how many of them were there to hear the answer. */
  readonly handed: (heard: number) => void;
}

/** What is known of a publish before it is sent. */
interface Claimed {
  readonly id: string;
  /** A worker may have published the job. */
  readonly handed: boolean;
  /** A gateway before this one may have handed it to a worker: nobody could be asked. */
  readonly isUnsure: boolean;
}

/** What came of a publish. */
interface Delivered extends Claimed {
  readonly outcome: RequestOutcome;
}

/** An answer that its asker may not have heard. */
interface KeptAnswer {
  readonly body: Uint8Array;
  readonly trace?: string;
  readonly until: number;
}

/** Counts of the publish lane. */
export interface PublishLaneStats {
  readonly open: number;
  /** Byte-identical requests that joined one under way. */
  readonly joined: number;
  /** Requests whose id came from a gateway that had died. */
  readonly resumed: number;
  /** Requests sent without their id being remembered, because no worker could be asked. */
  readonly unremembered: number;
  readonly failed: number;
  /** Publishes that wait while others of their user are under way. */
  readonly users: FairShare['stats'];
}

const { waitsMs, waitsInHopeMs, retryMs, share } = LIMITS.publish;
// An answer that comes when the CLI is about to hang up, or has, is given to its next try as well:
// that came 1.2 s later on a starved machine. A host on which a publish takes so long starts no
// other CLI in that time. Counted with the time that it lay unread here while we were stopped.
const SLOW_ANSWER_MS = 4_500;
const KEEP_SLOW_MS = 2_500;
// Where somebody had hung up, the next try, if any, comes 5 s later at the latest.
const KEEP_UNHEARD_MS = 6_000;
// Who tries again comes at once where its answer was not heard: before it is known who heard.
const KEEP_UNTIL_KNOWN_MS = 1_000;
// What is read right after the start was sent at an unknown time before, while nobody listened: it
// is taken for slow (found by chaos: 10 s without a gateway). libzmq connects again each 0.1 s, and
// no longer than need be: a new command alike, soon after, would get the old job, and no returns.
const EARLY_MS = 500;
// What lay in the sockets of a process that was paused is read within this after it.
const READ_WITHIN_MS = 1_000;
const MAX_KEPT = 1_000;
// More with the very same bytes within seconds is no CLI that tries again.
const MAX_ASKERS = 64;

/** Publish requests: joined when byte-identical, answered in time whatever is down. */
export class PublishLane {
  readonly #workers: Workers;
  readonly #memory: RequestMemory;
  readonly #open = new Map<string, OpenPublish>();
  readonly #kept = new Map<string, KeptAnswer>();
  /** By the hash of their bytes: the last requests whose answers were heard, oldest first. */
  readonly #heard = new Map<string, { readonly id: string; readonly at: number }>();
  readonly #users = new FairShare(share);
  readonly #since = performance.now();
  readonly #pauses = new PauseWatch({ everyMs: 500, gapMs: 1_000 });
  #joined = 0;
  #resumed = 0;
  #unremembered = 0;
  #failed = 0;

  constructor(workers: Workers, memory: RequestMemory) {
    this.#workers = workers;
    this.#memory = memory;
  }

  get stats(): PublishLaneStats {
    return {
      open: this.#open.size,
      joined: this.#joined,
      resumed: this.#resumed,
      unremembered: this.#unremembered,
      failed: this.#failed,
      users: this.#users.stats,
    };
  }

  /** Tells what the next gateway may take for a request whose answer died with this one. */
  async close(): Promise<void> {
    const since = performance.now() - REQUEST_UNHEARD_MS;
    const last = [...this.#heard].filter(([, { at }]) => at >= since);
    // Who can not be told takes the same bytes for another try of the same CLI, for a few seconds.
    await Promise.allSettled(last.map(([hash, { id }]) => this.#memory.heard(hash, id)));
  }

  /** Resolves with the answer; undefined when the asker joined a request that is under way. */
  async send(
    id: string,
    body: Buffer,
    asker: Asker,
    user: string,
    by: Pick<RequestToSend, 'asker'> = {},
  ): Promise<PublishAnswer | undefined> {
    const hash = createHash('sha256').update(body).digest('hex');
    const under = this.#open.get(hash);
    if (under !== undefined) {
      this.#joined += 1;
      if (under.askers.length < MAX_ASKERS) under.askers.push(asker);
      return undefined;
    }
    const kept = this.#kept.get(hash);
    if (kept !== undefined && performance.now() < kept.until) {
      this.#joined += 1;
      const { until: _, ...answer } = kept;
      return { askers: [asker], ...answer, handed: () => undefined };
    }
    const open: OpenPublish = { askers: [asker] };
    this.#open.set(hash, open);
    const askedAt = performance.now();
    const lainMs = this.#pauses.lastedMs(READ_WITHIN_MS);
    const isEarly = askedAt - this.#since < EARLY_MS;
    const delivered = await this.#users.run(user, body.length, async () => {
      const claimed = await this.#claim(hash, id, askedAt + waitsMs);
      const sent = { class: 'clear', body, ...addressOf(asker), ...by } as const;
      return this.#deliver(claimed, sent, askedAt);
    });
    this.#open.delete(hash);
    const answer = this.#answer(delivered);
    const isReply = delivered.outcome.kind === 'reply';
    if (isReply) this.#keep(hash, answer, KEEP_UNTIL_KNOWN_MS);
    return {
      askers: open.askers,
      ...answer,
      handed: (heard) => {
        if (heard > 0) this.#tell(hash, delivered.id);
        if (heard === open.askers.length) this.#noteHeard(hash, delivered.id);
        // Of two tries at once the first had hung up: the third may be on its way just now.
        const isUnheard = heard < open.askers.length;
        const isSlow = isEarly || performance.now() - askedAt + lainMs >= SLOW_ANSWER_MS;
        this.#kept.delete(hash);
        const keepMs = isUnheard ? KEEP_UNHEARD_MS : KEEP_SLOW_MS;
        if (isReply && (isUnheard || isSlow)) this.#keep(hash, answer, keepMs);
      },
    };
  }

  /** Tries under the one id until there is an answer, no worker, or no more patience. */
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
      if (now >= askedAt + waitsMs) {
        const isHopeless = !this.#workers.ready && !handed;
        if (isHopeless || now >= askedAt + waitsInHopeMs) return { id, handed, isUnsure, outcome };
        until = askedAt + waitsInHopeMs;
      }
      await pause(retryMs);
    }
  }

  #answer(delivered: Delivered): { readonly body: Uint8Array; readonly trace?: string } {
    const { outcome } = delivered;
    if (outcome.kind === 'reply') {
      const { body, trace } = outcome;
      return trace === undefined ? { body } : { body, trace };
    }
    this.#failed += 1;
    return { body: publishFailure(outcome, delivered, this.#workers.ready) };
  }

  #keep(hash: string, answer: Omit<KeptAnswer, 'until'>, keepMs: number): void {
    const now = performance.now();
    for (const [key, { until }] of this.#kept) {
      if (until <= now || this.#kept.size >= MAX_KEPT) this.#kept.delete(key);
    }
    this.#kept.set(hash, { ...answer, until: now + keepMs });
  }

  /**
   * The id to send the bytes under. Asked for until there is an answer: what was published without
   * would be another job after the death of this process, when its CLI asks the next one.
   */
  async #claim(hash: string, id: string, untilMs: number): Promise<Claimed> {
    for (;;) {
      try {
        const known = await this.#memory.claim(hash, id);
        if (known !== id) this.#resumed += 1;
        return { id: known, handed: known !== id, isUnsure: false };
      } catch {
        // Nobody to ask is, as a rule, nobody to publish: NATS is away, or no worker is there.
        if (performance.now() + retryMs >= untilMs) break;
        await pause(retryMs);
      }
    }
    // A publish without a memory is better than none; counted, and shown in the status.
    this.#unremembered += 1;
    const isUnsure = performance.now() - this.#since < REQUEST_MEMORY_MS;
    return { id, handed: false, isUnsure };
  }

  #noteHeard(hash: string, id: string): void {
    this.#heard.delete(hash);
    this.#heard.set(hash, { id, at: performance.now() });
    const [oldest] = this.#heard.keys();
    if (this.#heard.size > MAX_KEPT && oldest !== undefined) this.#heard.delete(oldest);
  }

  #tell(hash: string, id: string): void {
    this.#memory.answered(hash, id).catch(() => {
      // The note says "unanswered" for 20 s: only another gateway could take it up, with the same
      // bytes, and its CLI would get the jid of this job.
      this.#unremembered += 1;
    });
  }
}

/**
 * What a stock CLI prints cleanly: `{"error": text}` to a publish
 * (Salt: salt/client LocalClient.pub raises PublishError of it). That there is no job is said only
 * where no worker can have made one.
 */
function publishFailure(
  outcome: Exclude<RequestOutcome, { kind: 'reply' }>,
  { handed, isUnsure }: Claimed,
  ready: boolean,
): Buffer {
  const stalled = stalledText(outcome);
  if (handed) {
    const see = 'the job may have been published, see jobs.list_jobs';
    return pack(mapOf({ error: `${stalled ?? 'The master did not answer in time'}; ${see}` }));
  }
  const why =
    stalled ??
    (outcome.kind === 'expired' && outcome.why === 'limit'
      ? 'The master has too many requests in hand; try again later'
      : ready
        ? 'The master is busy: no worker had room'
        : 'The master is not ready: no worker answers');
  return pack(mapOf({ error: isUnsure ? why : `${why}; the job was not published` }));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
