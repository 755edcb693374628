import { type Bucket, BusError, escapeKey } from '@brine/bus';
import { MasterUnavailableError, type Mines } from '@brine/master';
import { pack, type SaltMap, unpack } from '@brine/wire';
import { fromHotState, unlessConflict } from '../hot-state.ts';
import { idsIn } from './ids-in.ts';

/**
 * Most bytes of one minion's mine: it is one message of NATS, whose `max_payload` is 8 MB. Real
 * mines hold addresses and disks, some KB.
 */
const MINE_MAX_BYTES = 4 * 1024 * 1024;

/** Workers that write the mine of one minion at the same moment. */
const TRIES_MAX = 8;

/** A mine that was flushed: nil in msgpack. */
export const NO_MINE: Uint8Array = pack(null);

/** The mine, in the `brine_mine` bucket: one record per minion, nil where it was flushed. */
export class BucketMines implements Mines {
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async fetch(id: string): Promise<SaltMap | undefined> {
    return (await this.#read(id)).mine;
  }

  async change(
    id: string,
    next: (now: SaltMap | undefined) => SaltMap | undefined,
  ): Promise<boolean> {
    for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
      const { mine, revision } = await this.#read(id);
      const changed = pack(next(mine) ?? null);
      if (changed.length > MINE_MAX_BYTES) return false;
      const key = escapeKey(id);
      const written =
        revision === undefined
          ? this.#bucket.create(key, changed)
          : this.#bucket.update(key, changed, revision);
      if ((await unlessConflict('the mine', written)) !== undefined) return true;
    }
    const cause = new BusError('BUS_CONFLICT', `the mine of ${id} changes all the time`);
    throw new MasterUnavailableError(cause.message, { cause });
  }

  /** The minions that have something in the mine. */
  ids(): Promise<string[]> {
    return idsIn(this.#bucket, 'the mine', ({ value }) => value[0] !== NO_MINE[0]);
  }

  async #read(id: string): Promise<{ mine: SaltMap | undefined; revision: number | undefined }> {
    const entry = await fromHotState('the mine', this.#bucket.get(escapeKey(id)));
    const mine = entry === undefined ? null : unpack(entry.value);
    return { mine: mine instanceof Map ? mine : undefined, revision: entry?.revision };
  }
}
