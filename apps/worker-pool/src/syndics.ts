import { escapeKey, type Bucket } from '@brine/bus';
import type { Syndics } from '@brine/master';
import { LRUCache } from 'lru-cache';
import { fromHotState } from './hot-state.ts';

/** Ids whose answer is remembered; there are thousands of minions to a syndic. */
const KEPT_MAX = 10_000;

/** For so long "no syndic" is believed without another look: a syndic tells once, at its start. */
const BELIEVED_MS = 10_000;

const YES = Buffer.from([1]);

/** Which minions are syndics, from the `brine_minions` bucket. */
export class BucketSyndics implements Syndics {
  readonly #bucket: Bucket;
  readonly #known = new LRUCache<string, boolean>({ max: KEPT_MAX });

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async isKnown(id: string): Promise<boolean> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const entry = await fromHotState('syndics', this.#bucket.get(nameOf(id)));
    const isSyndic = entry !== undefined && entry.value.length > 0;
    this.#known.set(id, isSyndic, { ttl: BELIEVED_MS });
    return isSyndic;
  }

  async remember(id: string): Promise<void> {
    if (this.#known.get(id) === true) return;
    await fromHotState('syndics', this.#bucket.put(nameOf(id), YES));
    this.#known.set(id, true, { ttl: BELIEVED_MS });
  }
}

function nameOf(id: string): ReturnType<typeof escapeKey> {
  return escapeKey(id, 'syndic');
}
