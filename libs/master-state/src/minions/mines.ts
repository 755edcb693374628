import { type Bucket, type BucketEntry, changeValue, escapeKey } from '@brine/bus';
import type { Mines } from '@brine/master';
import { isMap, pack, type SaltMap, unpack } from '@brine/wire';
import { fromHotState } from '../hot-state.ts';
import { idsIn } from './ids-in.ts';

/**
 * Size limit of a minion's mine: one message of NATS, whose `max_payload` is 8 MB. Real mines have
 * addresses and disks, some KB.
 */
const MINE_MAX_BYTES = 4 * 1024 * 1024;

/** The record of a flushed mine: nil in msgpack. */
export const NO_MINE: Uint8Array = pack(null);

/** The mine, in the `brine_mine` bucket: one record per minion, nil after a flush. */
export class BucketMines implements Mines {
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async fetch(id: string): Promise<SaltMap | undefined> {
    return mineIn(await fromHotState('the mine', this.#bucket.get(escapeKey(id))));
  }

  async kept(id: string): ReturnType<Mines['kept']> {
    const entry = await fromHotState('the mine', this.#bucket.get(escapeKey(id)));
    const data = mineIn(entry);
    return data && { data, atMs: entry?.timeMs ?? 0 };
  }

  async change(
    id: string,
    next: (now: SaltMap | undefined) => SaltMap | undefined,
  ): Promise<boolean> {
    const changed = changeValue(this.#bucket, escapeKey(id), (entry) => {
      const value = pack(next(mineIn(entry)) ?? null);
      return value.length > MINE_MAX_BYTES ? { answer: false } : { answer: true, value };
    });
    return fromHotState('the mine', changed);
  }

  /** Ids of minions with data in the mine. */
  ids(): Promise<string[]> {
    return idsIn(this.#bucket, 'the mine', ({ value }) => value[0] !== NO_MINE[0]);
  }
}

function mineIn(entry: BucketEntry | undefined): SaltMap | undefined {
  const mine = entry === undefined ? null : unpack(entry.value);
  return isMap(mine) ? mine : undefined;
}
