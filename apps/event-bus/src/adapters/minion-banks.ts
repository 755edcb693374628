import { setTimeout as sleep } from 'node:timers/promises';
import { Bucket, type BucketEntry, type BucketKey, type Bus, splitKey } from '@brine/bus';
import type { BankFiles, MinionBank } from '@brine/cachedir';
import { isMinionId } from '@brine/job';
import { isMap, mapIn, type SaltMap, unpack } from '@brine/wire';

/** Files that are written at the same time. */
const AT_ONCE = 16;
const RETRY_MS = 5_000;

const BUCKETS = { grains: 'brine_minions', mine: 'brine_mine' } as const;

/** What {@link startMinionBanks} works with. */
export interface MinionBanksParts {
  readonly bus: Bus;
  readonly files: Pick<BankFiles, 'keep'>;
  readonly onTrouble: (text: string, error?: unknown) => void;
}

/**
 * Writes grains and mine of all minions to the disk of this host, and then each change. It runs in
 * the background. What waits are names; a value is read when its turn comes.
 */
export function startMinionBanks(parts: MinionBanksParts): {
  status(): object;
  close(): Promise<void>;
} {
  const all = [new FollowedBank('grains', parts), new FollowedBank('mine', parts)];
  return {
    status: () => Object.fromEntries(all.map((one) => [one.bank, one.status()])),
    close: async () => {
      await Promise.all(all.map((one) => one.close()));
    },
  };
}

class FollowedBank {
  readonly bank: MinionBank;
  readonly #parts: MinionBanksParts;
  readonly #bucket: Bucket;
  readonly #watch: { close(): void };
  readonly #waiting = new Set<BucketKey>();
  readonly #closing = new AbortController();
  readonly #counts = { written: 0, unreadable: 0, failed: 0 };
  #work: Promise<void> | undefined;

  constructor(bank: MinionBank, parts: MinionBanksParts) {
    this.bank = bank;
    this.#parts = parts;
    this.#bucket = new Bucket(parts.bus, BUCKETS[bank]);
    this.#watch = this.#bucket.watch({
      onChange: ({ key }) => {
        this.#waiting.add(key);
        this.#work ??= this.#writeAll();
      },
      // All values come again.
      onReset: () => undefined,
    });
  }

  status(): object {
    return { ...this.#counts, waiting: this.#waiting.size };
  }

  async close(): Promise<void> {
    this.#watch.close();
    this.#closing.abort();
    await this.#work;
  }

  async #writeAll(): Promise<void> {
    const { signal } = this.#closing;
    let isFailing = false;
    while (this.#waiting.size > 0 && !signal.aborted) {
      const keys = this.#next();
      const errors = (await Promise.all(keys.map((key) => this.#write(key)))).filter(
        (error) => error !== undefined,
      );
      if (errors.length === 0) {
        isFailing = false;
        continue;
      }
      if (!isFailing) {
        this.#parts.onTrouble(`${this.bank} for stock tools could not be written`, errors[0]);
      }
      isFailing = true;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
    this.#work = undefined;
  }

  #next(): readonly BucketKey[] {
    const keys: BucketKey[] = [];
    for (const key of this.#waiting) {
      if (keys.length === AT_ONCE) break;
      keys.push(key);
      this.#waiting.delete(key);
    }
    return keys;
  }

  /** Gives what went wrong; then the minion waits again. */
  async #write(key: BucketKey): Promise<unknown> {
    const [id = '', kind] = splitKey(key);
    // Earlier releases kept there which minions are syndics.
    if (kind !== undefined || !isMinionId(id)) return undefined;
    try {
      const entry = await this.#bucket.get(key);
      if (entry !== undefined) await this.#parts.files.keep(this.bank, id, this.#dataIn(entry));
      this.#counts.written += 1;
      return undefined;
    } catch (error) {
      this.#counts.failed += 1;
      this.#waiting.add(key);
      return error;
    }
  }

  /** Undefined where the minion has nothing any more. */
  #dataIn({ value }: BucketEntry): SaltMap | undefined {
    if (value.length === 0) return undefined;
    try {
      const record = unpack(value);
      if (!isMap(record)) return undefined;
      return this.bank === 'grains' ? mapIn(record, 'grains') : record;
    } catch {
      // Not what a worker writes.
      this.#counts.unreadable += 1;
      return undefined;
    }
  }
}
