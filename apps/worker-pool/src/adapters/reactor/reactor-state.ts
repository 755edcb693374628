import { type Bucket, BusError, escapeKey } from '@brine/bus';
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

/** What all workers know of the reactor, besides its configuration. */
export interface SharedReactor {
  readonly changes: ReactorChanges;
  /** Whether it reacts at all (Salt: `reactor.set_leader`). */
  readonly isLeader: boolean;
}

/** A failure with its time, as it is kept. */
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

/** Failures stand in pages, each the value of one key; the oldest page is written over. */
export const FAILURES = { perPage: 50, pages: 20 } as const;

/** How long the plan of a reaction that is at work is kept, in ms. */
const OPEN_MS = 7 * 86_400_000;
/**
 * How long it is known that a reaction is over, in ms. NATS forgets its last acknowledgements when
 * it is killed, and then delivers events again that were reacted to.
 */
const ENDED_MS = 10 * 60_000;
const TRIES = 20;

const LIST_KEY = escapeKey('list');
const FAILED_KEY = escapeKey('failed');
const NOTHING: SharedReactor = { changes: UNCHANGED, isLeader: true };

/**
 * The bucket `brine_reactor`: changes to the list, plans of reactions at work, failures. Every
 * method rejects with OutageError where the bucket is away.
 */
export class ReactorState implements PlanStore {
  readonly #bucket: Bucket;
  readonly #box: SecretBox;

  /** @param box seals failures: their texts may quote what a file holds */
  constructor(bucket: Bucket, box: SecretBox) {
    this.#bucket = bucket;
    this.#box = box;
  }

  /** What was changed by runners. */
  async shared(): Promise<SharedReactor> {
    const entry = await outage(this.#bucket.get(LIST_KEY));
    return entry === undefined ? NOTHING : readShared(entry.value);
  }

  /**
   * Changes what all workers know. The change may be made several times, over what others wrote.
   * @returns what the last change gave: a text says in words why nothing was changed
   */
  async change(
    make: (shared: SharedReactor) => SharedReactor | string,
  ): Promise<SharedReactor | string> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const entry = await outage(this.#bucket.get(LIST_KEY));
      const wanted = make(entry === undefined ? NOTHING : readShared(entry.value));
      if (typeof wanted === 'string') return wanted;
      const value = json(wanted);
      const written =
        entry === undefined
          ? this.#bucket.create(LIST_KEY, value)
          : this.#bucket.update(LIST_KEY, value, entry.revision);
      if ((await unlessFirst(written)) !== undefined) return wanted;
    }
    throw new OutageError('others change the list of reactors all the time');
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
    const options = { livesMs: plan.ended ? ENDED_MS : OPEN_MS };
    const written =
      revision === 0
        ? this.#bucket.create(planKey(id), value, options)
        : this.#bucket.update(planKey(id), value, revision, options);
    return unlessFirst(written);
  }

  /** Keeps a failure, over the oldest one where there are 1,000. */
  async keepFailure(failure: KeptFailure): Promise<void> {
    const at = await this.#nextFailure();
    const first = at - (at % FAILURES.perPage);
    const key = pageKey((at / FAILURES.perPage) % FAILURES.pages);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const entry = await outage(this.#bucket.get(key));
      const page = entry && this.#page(entry.value);
      // It was so slow that its page is another round's now.
      if (page !== undefined && page.first > first) return;
      // A page of the round before is begun again.
      const list = page?.first === first ? page.list : [];
      const value = this.#box.seal(json({ first, list: [...list, failure] }));
      const written =
        entry === undefined
          ? this.#bucket.create(key, value)
          : this.#bucket.update(key, value, entry.revision);
      if ((await unlessFirst(written)) !== undefined) return;
    }
    throw new OutageError('others write failures all the time');
  }

  /** The failures that are kept, the newest first, and how many there ever were. */
  async failures(): Promise<{ readonly list: readonly KeptFailure[]; readonly count: number }> {
    const count = await this.#failureCount();
    const pages = await Promise.all(
      Array.from({ length: FAILURES.pages }, async (_, at) => {
        const entry = await outage(this.#bucket.get(pageKey(at)));
        return entry === undefined ? undefined : this.#page(entry.value);
      }),
    );
    const known = pages.filter((page) => page !== undefined);
    const sorted = known.sort((a, b) => b.first - a.first);
    return { list: sorted.flatMap(({ list }) => [...list].reverse()), count: count.n };
  }

  async #nextFailure(): Promise<number> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { n, revision } = await this.#failureCount();
      const value = json({ n: n + 1 });
      const written =
        revision === 0
          ? this.#bucket.create(FAILED_KEY, value)
          : this.#bucket.update(FAILED_KEY, value, revision);
      if ((await unlessFirst(written)) !== undefined) return n;
    }
    throw new OutageError('others write failures all the time');
  }

  async #failureCount(): Promise<{ readonly n: number; readonly revision: number }> {
    const entry = await outage(this.#bucket.get(FAILED_KEY));
    if (entry === undefined) return { n: 0, revision: 0 };
    const { n } = parsed(entry.value) as { readonly n?: unknown };
    return { n: typeof n === 'number' ? n : 0, revision: entry.revision };
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

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function parsed(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString('utf8'));
}

/** This release alone writes these values. */
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

/** The revision that was written; undefined where another writer was first. */
async function unlessFirst(written: Promise<number>): Promise<number | undefined> {
  try {
    return await written;
  } catch (cause) {
    if (cause instanceof BusError && cause.code === 'BUS_CONFLICT') return undefined;
    throw new OutageError('the bucket of the reactor cannot be reached', { cause });
  }
}
