import type { Bucket, BucketEntry, BucketWatch } from '@brine/bus';
import { PackedMaps, type SaltValue } from '@brine/wire';
import { fromHotState } from '../hot-state.ts';

/**
 * The data of a whole fleet stays in memory only while targets use it: 100,000 minions with 10 KB
 * of grains are 1 GB in each worker. It is dropped when no target asked for it for this long, in
 * ms.
 */
const IDLE_MS = 10 * 60_000;

/** What an entry of the bucket says; `packed` is undefined where there is nothing (any more). */
export interface FleetEntry {
  readonly id: string;
  readonly packed: Uint8Array | undefined;
}

/** One map of each minion of a bucket, packed, read on demand and followed while it is in use. */
export class FleetMaps {
  readonly #bucket: Bucket;
  readonly #what: string;
  readonly #read: (entry: BucketEntry) => FleetEntry | undefined;
  readonly #maps = new PackedMaps();
  #watch: BucketWatch | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** `what` stands in the error where the bucket cannot be reached; `read` passes over entries. */
  constructor(bucket: Bucket, what: string, read: (entry: BucketEntry) => FleetEntry | undefined) {
    this.#bucket = bucket;
    this.#what = what;
    this.#read = read;
  }

  /** Makes all readable by `get`; resolves at once when they are. */
  async ready(): Promise<void> {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), IDLE_MS);
    this.#idle.unref();
    this.#watch ??= this.#bucket.watch({
      onChange: (entry) => this.#changed(entry),
      onReset: () => this.#maps.clear(),
    });
    await fromHotState(this.#what, this.#watch.whenReady());
  }

  get(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined {
    return this.#maps.get(id);
  }

  /** Knows at once what was just written, where it is in use. */
  set(id: string, packed: Uint8Array): void {
    if (this.#watch !== undefined) this.#maps.set(id, packed);
  }

  delete(id: string): void {
    this.#maps.delete(id);
  }

  /** Stops watching, and drops all. */
  close(): void {
    clearTimeout(this.#idle);
    this.#watch?.close();
    this.#watch = undefined;
    this.#maps.clear();
  }

  #changed(entry: BucketEntry): void {
    const read = this.#read(entry);
    if (read === undefined) return;
    if (read.packed === undefined) this.#maps.delete(read.id);
    else this.#maps.set(read.id, read.packed);
  }
}
