import { type Bucket, type BucketEntry, changeValue, escapeKey } from '@brine/bus';
import type { SecretBox } from '@brine/crypt';
import {
  type CallPlan,
  type FailedReaction,
  type FailureKind,
  OutageError,
  type PlanStore,
  type ReactorChanges,
  UNCHANGED,
} from '@brine/reactor';

/** The state of the reactor that all processes share, beside its configuration. */
export interface SharedReactor {
  readonly changes: ReactorChanges;
  /** True if it reacts at all (Salt: `reactor.set_leader`). */
  readonly isLeader: boolean;
}

/** A failure with its time. */
export interface KeptFailure extends FailedReaction {
  readonly kind: FailureKind;
  /** Unix ms. */
  readonly atMs: number;
}

/** Failures of one key, in their order. */
interface FailurePage {
  /** The number of the first one. */
  readonly first: number;
  readonly list: readonly KeptFailure[];
}

/** Failures are stored in pages, one per key; the oldest page is overwritten. */
export const FAILURES = { perPage: 50, pages: 20 } as const;

/** Time that the plan of an unfinished reaction is kept, in ms. */
const OPEN_MS = 7 * 86_400_000;
/**
 * Time that the plan of a finished reaction is kept, in ms. A killed NATS loses its last
 * acknowledgements, and delivers their events again.
 */
const ENDED_MS = 10 * 60_000;

const LIST_KEY = escapeKey('list');
const FAILED_KEY = escapeKey('failed');
const NOTHING: SharedReactor = { changes: UNCHANGED, isLeader: true };

/**
 * The bucket `brine_reactor`: changes to the list, plans of reactions at work, failures. Every
 * method rejects with OutageError while the bucket is unreachable.
 */
export class ReactorState implements PlanStore {
  readonly #bucket: Bucket;
  readonly #box: SecretBox;

  /** @param box seals failures: their texts may quote the contents of a file */
  constructor(bucket: Bucket, box: SecretBox) {
    this.#bucket = bucket;
    this.#box = box;
  }

  /** Reads the changes that runners made. */
  async shared(): Promise<SharedReactor> {
    const entry = await outage(this.#bucket.get(LIST_KEY));
    return entry === undefined ? NOTHING : readShared(entry.value);
  }

  /**
   * Changes the shared state. `make` may be called several times, after writes of others.
   * @returns the last result of `make`: a text is the reason why nothing was changed
   */
  async change(
    make: (shared: SharedReactor) => SharedReactor | string,
  ): Promise<SharedReactor | string> {
    const changed = changeValue<SharedReactor | string>(this.#bucket, LIST_KEY, (entry) => {
      const answer = make(entry === undefined ? NOTHING : readShared(entry.value));
      return typeof answer === 'string' ? { answer } : { answer, value: json(answer) };
    });
    return outage(changed);
  }

  async load(
    id: string,
  ): Promise<{ readonly plan: CallPlan; readonly revision: number } | undefined> {
    const entry = await outage(this.#bucket.get(planKey(id)));
    const plan = entry && readPlan(entry.value);
    return entry && plan && { plan, revision: entry.revision };
  }

  async save(id: string, plan: CallPlan, revision: number): Promise<number | undefined> {
    const value = json([plan.begun, plan.ended, ...plan.calls.map(({ jid, done }) => [jid, done])]);
    const livesMs = plan.ended ? ENDED_MS : OPEN_MS;
    return outage(this.#bucket.update(planKey(id), value, revision, { livesMs }));
  }

  /** Stores a failure; overwrites the oldest one of 1,000. */
  async keepFailure(failure: KeptFailure): Promise<void> {
    const at = await this.#nextFailure();
    const first = at - (at % FAILURES.perPage);
    const key = pageKey((at / FAILURES.perPage) % FAILURES.pages);
    const kept = changeValue(this.#bucket, key, (entry) => {
      const page = entry && this.#page(entry.value);
      // This write was so slow that its page already belongs to a later round.
      if (page !== undefined && page.first > first) return { answer: undefined };
      // A page of the previous round starts empty.
      const list = page?.first === first ? page.list : [];
      const value = this.#box.seal(json({ first, list: [...list, failure] }));
      return { answer: undefined, value };
    });
    await outage(kept);
  }

  /** The stored failures, the newest first, and the number of all failures ever. */
  async failures(): Promise<{ readonly list: readonly KeptFailure[]; readonly count: number }> {
    const count = countIn(await outage(this.#bucket.get(FAILED_KEY)));
    const pages = await Promise.all(
      Array.from({ length: FAILURES.pages }, async (_, at) => {
        const entry = await outage(this.#bucket.get(pageKey(at)));
        return entry === undefined ? undefined : this.#page(entry.value);
      }),
    );
    const known = pages.filter((page) => page !== undefined);
    const sorted = known.sort((a, b) => b.first - a.first);
    return { list: sorted.flatMap(({ list }) => [...list].reverse()), count };
  }

  #nextFailure(): Promise<number> {
    const counted = changeValue(this.#bucket, FAILED_KEY, (entry) => {
      const answer = countIn(entry);
      return { answer, value: json({ n: answer + 1 }) };
    });
    return outage(counted);
  }

  #page(value: Uint8Array): FailurePage {
    return parsed(this.#box.open(value)) as FailurePage;
  }
}

function planKey(id: string) {
  return escapeKey('plan', id);
}

function pageKey(page: number) {
  return escapeKey('failed', String(Math.floor(page)));
}

function countIn(entry: BucketEntry | undefined): number {
  if (entry === undefined) return 0;
  const { n } = parsed(entry.value) as { readonly n?: unknown };
  return typeof n === 'number' ? n : 0;
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function parsed(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString('utf8'));
}

/** Only this release writes these values. */
function readShared(value: Uint8Array): SharedReactor {
  return { ...NOTHING, ...(parsed(value) as Partial<SharedReactor>) };
}

function readPlan(value: Uint8Array): CallPlan {
  const [begun, ended, ...calls] = parsed(value) as [number, boolean, ...[string, boolean][]];
  return { begun, ended, calls: calls.map(([jid, done]) => ({ jid, done })) };
}

async function outage<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new OutageError('the bucket of the reactor cannot be reached', { cause });
  }
}
