import { createHash } from 'node:crypto';
import { type Bucket, type BucketEntry, escapeKey, splitKey } from '@brine/bus';
import type { MinionData, StoredMinionData } from '@brine/master';
import { mapIn, mapOf, pack, type SaltMap, type SaltValue, scanMap, unpackMap } from '@brine/wire';
import { LRUCache } from 'lru-cache';
import { fromHotState } from '../hot-state.ts';
import { type FleetEntry, FleetMaps } from './fleet-maps.ts';
import { idsIn } from './ids-in.ts';

/**
 * Number of remembered hashes of grains, so that a restarting minion does not write the same again.
 */
const HASHES_KEPT_MAX = 100_000;

/** By size, each entry 1: with `max` the cache would allocate all entries at once. */
const PLACES = { maxSize: HASHES_KEPT_MAX, sizeCalculation: () => 1 };

/** Data that minions sent about themselves, from the `brine_minions` bucket, read on demand. */
export class BucketMinionData implements MinionData {
  readonly #bucket: Bucket;
  readonly #grains: FleetMaps;
  readonly #stored = new LRUCache<string, string>(PLACES);

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
    this.#grains = new FleetMaps(bucket, 'minion data', readGrains);
  }

  async storeGrains(id: string, grains: SaltMap): Promise<void> {
    const packed = pack(grains);
    const hash = createHash('sha1').update(packed).digest('base64');
    if (this.#stored.get(id) === hash) return;
    const record = pack(mapOf({ grains, updated_at: Date.now() }));
    await fromHotState('minion data', this.#bucket.put(escapeKey(id), record));
    this.#stored.set(id, hash);
    this.#grains.set(id, packed);
  }

  /** Another minion of this id may send the same grains: they must then be written again. */
  forget(id: string): void {
    this.#stored.delete(id);
    this.#grains.delete(id);
  }

  /** Earlier writes are repeated when their data arrive again. */
  forgetAll(): void {
    this.#stored.clear();
  }

  /** Ids of minions with stored grains. */
  ids(): Promise<string[]> {
    return idsIn(this.#bucket, 'minion data', ({ value }) => value.length > 0);
  }

  /** Empties the record of a minion; false if it was empty or missing. */
  async drop(id: string): Promise<boolean> {
    const key = escapeKey(id);
    const entry = await fromHotState('minion data', this.#bucket.get(key));
    if (entry === undefined || entry.value.length === 0) return false;
    await fromHotState('minion data', this.#bucket.put(key, Buffer.alloc(0)));
    this.forget(id);
    return true;
  }

  ready(): Promise<void> {
    return this.#grains.ready();
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
    this.#grains.close();
  }
}

function readGrains(entry: BucketEntry): FleetEntry | undefined {
  const [id = '', kind] = splitKey(entry.key);
  // Earlier releases stored here which minions are syndics.
  if (kind !== undefined) return undefined;
  return { id, packed: entry.value.length > 0 ? scanMap(entry.value).raw('grains') : undefined };
}
