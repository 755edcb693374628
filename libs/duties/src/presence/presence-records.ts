import { type Bucket, escapeKey } from '@brine/bus';
import { packMinions, readMinions, type SavedMinion, SHARDS } from '@brine/presence';

/** The saved state of presence for its next owner, in the bucket `brine_presence`. */
export class PresenceRecords {
  readonly #bucket: Pick<Bucket, 'get' | 'put'>;

  constructor(bucket: Pick<Bucket, 'get' | 'put'>) {
    this.#bucket = bucket;
  }

  /** Reads all saved minions. @throws BusError */
  async read(): Promise<readonly SavedMinion[]> {
    const shards = Array.from({ length: SHARDS }, (_, shard) => this.#bucket.get(keyOf(shard)));
    const entries = await Promise.all(shards);
    return entries.flatMap((entry) => (entry === undefined ? [] : readMinions(entry.value)));
  }

  /** Replaces one shard. @throws BusError */
  async write(shard: number, minions: readonly SavedMinion[]): Promise<void> {
    await this.#bucket.put(keyOf(shard), packMinions(minions));
  }
}

function keyOf(shard: number) {
  return escapeKey('minions', String(shard));
}
