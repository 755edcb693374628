import { type Bucket, type BucketEntry, escapeKey, splitKey } from '@brine/bus';
import type { Syndics } from '@brine/master';
import { LRUCache } from 'lru-cache';
import { fromHotState } from '../hot-state.ts';

/** Prefix of records in `brine_secrets` that mark syndics: all workers watch that bucket anyway. */
const KIND = 'syndic';

/** Limit of ids that are cached as "no syndic"; there are thousands per syndic. */
const KEPT_MAX = 10_000;

/** Time of that cache: a syndic announces itself once, at its start. */
const BELIEVED_MS = 10_000;

/** Record values: a syndic that answers as a minion too, or not. Empty: no longer a syndic. */
const RECORDS = { unanswering: Buffer.from([1]), answers: Buffer.from([2]) } as const;

/** Which minions are syndics. */
export class BucketSyndics implements Syndics {
  readonly #bucket: Bucket;
  readonly #unanswering = new Set<string>();
  readonly #answering = new Set<string>();
  readonly #others = new LRUCache<string, true>({ max: KEPT_MAX, ttl: BELIEVED_MS });

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  /** Applies a change of the bucket; ignores records of other kinds. */
  changed(entry: BucketEntry): void {
    const [kind, id] = splitKey(entry.key);
    if (kind !== KIND || id === undefined) return;
    this.#unanswering.delete(id);
    this.#answering.delete(id);
    const [record] = entry.value;
    if (record === RECORDS.unanswering[0]) this.#unanswering.add(id);
    if (record === RECORDS.answers[0]) this.#answering.add(id);
    if (record !== undefined) this.#others.delete(id);
  }

  /** Forgets everything, because the bucket was replaced. */
  reset(): void {
    this.#unanswering.clear();
    this.#answering.clear();
  }

  async isKnown(id: string): Promise<boolean> {
    if (this.#isCached(id)) return true;
    if (this.#others.has(id)) return false;
    // The watch may lag behind a write of another worker.
    const entry = await fromHotState('syndics', this.#bucket.get(keyOf(id)));
    if (entry !== undefined) this.changed(entry);
    if (this.#isCached(id)) return true;
    this.#others.set(id, true);
    return false;
  }

  async remember(id: string): Promise<void> {
    if (await this.isKnown(id)) return;
    await this.#write(id, RECORDS.unanswering);
    this.#unanswering.add(id);
  }

  unanswering(): ReadonlySet<string> {
    return this.#unanswering;
  }

  async answers(id: string): Promise<void> {
    await this.#write(id, RECORDS.answers);
    this.#unanswering.delete(id);
    this.#answering.add(id);
  }

  async #write(id: string, record: Buffer): Promise<void> {
    await fromHotState('syndics', this.#bucket.put(keyOf(id), record));
    this.#others.delete(id);
  }

  #isCached(id: string): boolean {
    return this.#unanswering.has(id) || this.#answering.has(id);
  }
}

function keyOf(id: string): ReturnType<typeof escapeKey> {
  return escapeKey(KIND, id);
}
