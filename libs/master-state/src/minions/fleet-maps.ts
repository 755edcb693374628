import type { Bucket, BucketEntry, BucketWatch } from '@brine/bus';
import { PackedMaps, type SaltValue } from '@brine/wire';
import { fromHotState } from '../hot-state.ts';

/**
 * Data of a fleet are dropped if no target used them for this time, in ms. They take memory:
 * 100,000 minions with 10 KB of grains are 1 GB in each worker.
 */
const IDLE_MS = 10 * 60_000;

/** An entry of the bucket; `packed` is undefined if it is empty. */
export interface FleetEntry {
  readonly id: string;
  readonly packed: Uint8Array | undefined;
}

/** Packed maps of all minions in a bucket, read on demand and followed while in use. */
export class FleetMaps {
  readonly #bucket: Bucket;
  readonly #what: string;
  readonly #read: (entry: BucketEntry) => FleetEntry | undefined;
  readonly #maps = new PackedMaps();
  #watch: BucketWatch | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** `what` names the unreachable bucket in errors; `read` may skip entries. */
  constructor(bucket: Bucket, what: string, read: (entry: BucketEntry) => FleetEntry | undefined) {
    this.#bucket = bucket;
    this.#what = what;
    this.#read = read;
  }

  /** Loads all maps, so that `get` finds them; resolves at once if they are loaded. */
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

  /** Applies a local write at once, if the maps are in use. */
  set(id: string, packed: Uint8Array): void {
    if (this.#watch !== undefined) this.#maps.set(id, packed);
  }

  delete(id: string): void {
    this.#maps.delete(id);
  }

  /** Stops watching, and drops all maps. */
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
