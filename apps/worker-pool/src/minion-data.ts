import { escapeKey, splitKey, type Bucket, type BucketEntry, type BucketWatch } from '@brine/bus';
import type { MinionData, StoredMinionData } from '@brine/master';
import {
  mapIn,
  mapOf,
  pack,
  PackedMaps,
  scanMap,
  unpackMap,
  type SaltMap,
  type SaltValue,
} from '@brine/wire';
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { fromHotState } from './hot-state.ts';

/**
 * Grains of all minions stay in memory only while somebody targets by them: 100,000 minions with
 * 10 KB of grains are 1 GB in each worker. Without a question for this long they are dropped.
 */
const IDLE_MS = 10 * 60_000;

/**
 * Hashes of the grains stored last, so that a minion that restarts does not write the same again.
 */
const HASHES_KEPT_MAX = 100_000;

/** What minions told of themselves, from the `brine_minions` bucket, read on demand. */
export class BucketMinionData implements MinionData {
  readonly #bucket: Bucket;
  readonly #grains = new PackedMaps();
  readonly #stored = new LRUCache<string, string>({ max: HASHES_KEPT_MAX });
  #watch: BucketWatch | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async storeGrains(id: string, grains: SaltMap): Promise<void> {
    const packed = pack(grains);
    const hash = createHash('sha1').update(packed).digest('base64');
    if (this.#stored.get(id) === hash) return;
    const record = pack(mapOf({ grains, updated_at: Date.now() }));
    await fromHotState('minion data', this.#bucket.put(escapeKey(id), record));
    this.#stored.set(id, hash);
    if (this.#watch !== undefined) this.#grains.set(id, packed);
  }

  /** Another minion of this id may bring the same grains: they have to be written again then. */
  forget(id: string): void {
    this.#stored.delete(id);
    this.#grains.delete(id);
  }

  async ready(): Promise<void> {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#drop(), IDLE_MS);
    this.#idle.unref();
    this.#watch ??= this.#bucket.watch({
      onChange: (entry) => this.#changed(entry),
      onReset: () => this.#grains.clear(),
    });
    await fromHotState('minion data', this.#watch.whenReady());
  }

  grains(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined {
    return this.#grains.get(id);
  }

  async fetch(id: string): Promise<StoredMinionData | undefined> {
    const entry = await fromHotState('minion data', this.#bucket.get(escapeKey(id)));
    if (entry === undefined || entry.value.length === 0) return undefined;
    const record = unpackMap(entry.value);
    const grains = mapIn(record, 'grains');
    const updatedAt = record.get('updated_at');
    if (grains === undefined) return undefined;
    return { grains, ...(typeof updatedAt === 'number' && { updatedAt }) };
  }

  /** Stops watching. */
  close(): void {
    this.#drop();
  }

  #changed(entry: BucketEntry): void {
    const [id = '', kind] = splitKey(entry.key);
    // Earlier releases kept here who is a syndic.
    if (kind !== undefined) return;
    const grains = entry.value.length > 0 ? scanMap(entry.value).raw('grains') : undefined;
    if (grains === undefined) this.#grains.delete(id);
    else this.#grains.set(id, grains);
  }

  #drop(): void {
    clearTimeout(this.#idle);
    this.#watch?.close();
    this.#watch = undefined;
    this.#grains.clear();
  }
}
