import { type Bucket, type BucketEntry, changeValue, escapeKey } from '@brine/bus';
import type { Mines } from '@brine/master';
import { isMap, pack, type SaltMap, unpack } from '@brine/wire';
import { fromHotState } from '../hot-state.ts';
import { idsIn } from './ids-in.ts';

/**
 * Most bytes of one minion's mine: it is one message of NATS, whose `max_payload` is 8 MB. Real
 * mines hold addresses and disks, some KB.
 */
const MINE_MAX_BYTES = 4 * 1024 * 1024;

/** A mine that was flushed: nil in msgpack. */
export const NO_MINE: Uint8Array = pack(null);

/** The mine, in the `brine_mine` bucket: one record per minion, nil where it was flushed. */
export class BucketMines implements Mines {
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async fetch(id: string): Promise<SaltMap | undefined> {
    return mineIn(await fromHotState('the mine', this.#bucket.get(escapeKey(id))));
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

  /** The minions that have something in the mine. */
  ids(): Promise<string[]> {
    return idsIn(this.#bucket, 'the mine', ({ value }) => value[0] !== NO_MINE[0]);
  }
}

function mineIn(entry: BucketEntry | undefined): SaltMap | undefined {
  const mine = entry === undefined ? null : unpack(entry.value);
  return isMap(mine) ? mine : undefined;
}
