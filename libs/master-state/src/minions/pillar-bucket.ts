import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type Bucket, type BucketEntry, escapeKey, splitKey } from '@brine/bus';
import type { SecretBox } from '@brine/crypt';
import { pack, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import { LRUCache } from 'lru-cache';
import { fromHotState } from '../hot-state.ts';
import { type FleetEntry, FleetMaps } from './fleet-maps.ts';
import { idsIn } from './ids-in.ts';

/** Size limit of a compressed record: one message of NATS, whose `max_payload` is 8 MB. */
const RECORD_MAX_BYTES = 4 * 1024 * 1024;

/** Size limit of an inflated record. */
const PILLAR_MAX_BYTES = 64 * 1024 * 1024;

const HASHES_KEPT_MAX = 100_000;

/** By size, each entry 1: with `max` the cache would allocate all entries at once. */
const PLACES = { maxSize: HASHES_KEPT_MAX, sizeCalculation: () => 1 };

/** A stored pillar. */
export interface KeptPillar {
  readonly pillar: SaltMap;
  /** Time of compilation, unix ms. */
  readonly madeMs: number;
}

/**
 * The last pillars, sealed with the master's key, from the `brine_pillars` bucket. Targets by
 * pillar and the `pillar_cache` of all workers use them.
 */
export class BucketPillars {
  readonly #bucket: Bucket;
  readonly #box: SecretBox;
  readonly #stored = new LRUCache<string, string>(PLACES);
  readonly #pillars: FleetMaps;

  constructor(bucket: Bucket, box: SecretBox) {
    this.#bucket = bucket;
    this.#box = box;
    this.#pillars = new FleetMaps(bucket, 'the pillars', (entry) => this.#read(entry));
  }

  /**
   * Stores a pillar; with `always` also an unchanged one, to renew its age.
   * @throws RangeError for a pillar of more than 4 MiB, compressed
   */
  async keep(id: string, env: string | null, pillar: SaltMap, always: boolean): Promise<void> {
    const packed = pack(pillar);
    const hash = createHash('sha1').update(packed).digest('base64');
    const key = keyOf(id, env);
    if (!always && this.#stored.get(key) === hash) return;
    const record = this.#box.seal(deflateRawSync(packed, { level: 1 }));
    if (record.length > RECORD_MAX_BYTES) {
      throw new RangeError(`the pillar of ${id} is too large to be kept`);
    }
    await fromHotState('the pillars', this.#bucket.put(key, record));
    this.#stored.set(key, hash);
  }

  async fetch(id: string, env: string | null): Promise<KeptPillar | undefined> {
    const entry = await fromHotState('the pillars', this.#bucket.get(keyOf(id, env)));
    const packed = entry === undefined ? undefined : this.#opened(entry);
    return packed && { pillar: unpackMap(packed), madeMs: entry?.timeMs ?? 0 };
  }

  /** Ids of minions with a pillar of no environment. */
  ids(): Promise<string[]> {
    return idsIn(this.#bucket, 'the pillars', ({ value }) => value.length > 0);
  }

  /** Empties a record; false if it was empty or missing. */
  async drop(id: string, env: string | null): Promise<boolean> {
    const key = keyOf(id, env);
    const entry = await fromHotState('the pillars', this.#bucket.get(key));
    if (entry === undefined || entry.value.length === 0) return false;
    await fromHotState('the pillars', this.#bucket.put(key, Buffer.alloc(0)));
    this.#stored.delete(key);
    if (key === keyOf(id, null)) this.#pillars.delete(id);
    return true;
  }

  /** Earlier writes are repeated when their pillars are made again. */
  forgetAll(): void {
    this.#stored.clear();
  }

  /** Loads the pillars of all minions for `of`; resolves at once if they are loaded. */
  ready(): Promise<void> {
    return this.#pillars.ready();
  }

  of(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined {
    return this.#pillars.get(id);
  }

  /** If a minion of this id returns, its pillar must be written again. */
  forget(id: string): void {
    this.#stored.delete(keyOf(id, null));
    this.#pillars.delete(id);
  }

  /** Stops watching. */
  close(): void {
    this.#pillars.close();
  }

  #read(entry: BucketEntry): FleetEntry | undefined {
    const [id = '', env] = splitKey(entry.key);
    return env === undefined ? { id, packed: this.#opened(entry) } : undefined;
  }

  #opened({ value }: BucketEntry): Buffer | undefined {
    if (value.length === 0) return undefined;
    return inflateRawSync(this.#box.open(value), { maxOutputLength: PILLAR_MAX_BYTES });
  }
}

function keyOf(id: string, env: string | null) {
  return env === null || env === '' ? escapeKey(id) : escapeKey(id, env);
}
