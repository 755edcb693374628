import { type Bucket, type BucketEntry, escapeKey } from '@brine/bus';
import type { BankName, MinionBanks } from '@brine/master';
import type { SaltMap } from '@brine/wire';
import { fromHotState } from '../hot-state.ts';
import type { BucketMines } from './mines.ts';
import type { BucketMinionData } from './minion-data.ts';
import type { BucketPillars } from './pillar-bucket.ts';

/** Records that are emptied at once. */
const AT_ONCE = 32;

/**
 * Record of `brine_secrets` with the time when records of minions were last emptied. All workers
 * watch that bucket. Without it, a worker would not write data again that it had written before.
 */
const DROPPED = escapeKey('dropped');

interface BankParts {
  readonly minionData: BucketMinionData;
  readonly pillars: BucketPillars;
  readonly mines: BucketMines;
  /** `brine_secrets`. */
  readonly secrets: Bucket;
  /** Pillar environments with records, beside none. */
  readonly pillarEnvs: readonly string[];
  /** Unix ms. */
  readonly now: () => number;
}

/** The banks of `cache.*`, in the buckets of the hot state. */
export class BucketBanks implements MinionBanks {
  readonly #parts: BankParts;

  constructor(parts: BankParts) {
    this.#parts = parts;
  }

  async ids(bank: BankName): Promise<readonly string[]> {
    const { minionData, pillars, mines } = this.#parts;
    const source = { grains: minionData, pillar: pillars, mine: mines }[bank];
    return (await source.ids()).sort();
  }

  async fetch(bank: BankName, id: string, env?: string): Promise<SaltMap | undefined> {
    const { minionData, pillars, mines } = this.#parts;
    if (bank === 'grains') return (await minionData.fetch(id))?.grains;
    if (bank === 'mine') return mines.fetch(id);
    return (await pillars.fetch(id, env ?? null))?.pillar;
  }

  async store(bank: BankName, id: string, data: SaltMap): Promise<void> {
    const { minionData, pillars, mines } = this.#parts;
    if (bank === 'grains') await minionData.storeGrains(id, data);
    else if (bank === 'pillar') await pillars.keep(id, null, data, true);
    else if (!(await mines.change(id, () => data))) {
      throw new RangeError(`the mine of ${id} is too large to be kept`);
    }
    // Other workers remember the emptied value as the last one that they wrote.
    if (bank !== 'mine') await this.#announceDropped();
  }

  async drop(bank: BankName, ids: readonly string[], env?: string): Promise<readonly string[]> {
    const dropped: string[] = [];
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const some = ids.slice(from, from + AT_ONCE);
      const had = await Promise.all(some.map((id) => this.#dropOne(bank, id, env)));
      dropped.push(...some.filter((_id, at) => had[at] === true));
    }
    if (dropped.length > 0 && bank !== 'mine') await this.#announceDropped();
    return dropped;
  }

  async #dropOne(bank: BankName, id: string, env: string | undefined): Promise<boolean> {
    const { minionData, pillars, mines, pillarEnvs } = this.#parts;
    if (bank === 'grains') return minionData.drop(id);
    if (bank === 'mine') {
      if ((await mines.fetch(id)) === undefined) return false;
      return mines.change(id, () => undefined);
    }
    const envs = env === undefined ? [null, ...pillarEnvs] : [env];
    const had = await Promise.all(envs.map((one) => pillars.drop(id, one)));
    return had.includes(true);
  }

  async #announceDropped(): Promise<void> {
    const { minionData, pillars, secrets, now } = this.#parts;
    minionData.forgetAll();
    pillars.forgetAll();
    await announceDropped(secrets, now());
  }
}

/** Makes all workers write the data of minions again, after others changed the records. */
export async function announceDropped(secrets: Bucket, nowMs: number): Promise<void> {
  await fromHotState('minion data', secrets.put(DROPPED, Buffer.from(String(nowMs))));
}

/** True for the entry of `brine_secrets` about emptied records. */
export function isDropped(entry: BucketEntry): boolean {
  return entry.key === DROPPED;
}
