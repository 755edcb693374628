import { type Bucket, type BucketKey, escapeKey } from '@brine/bus';
import type { HighWater } from './ports.ts';

const WRITE_EVERY_MS = 1_000;

/** Keeps the highest serial of each epoch in `brine_secrets`: no secret, only next to them. */
export class BucketHighWater implements HighWater {
  readonly #bucket: Bucket;
  #pending: { readonly epoch: number; readonly serial: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  /** Writes that did not work out. */
  get failures(): number {
    return this.#failures;
  }

  async read(epoch: number): Promise<number> {
    const entry = await this.#bucket.get(keyOf(epoch));
    const serial = Number(entry === undefined ? 0 : Buffer.from(entry.value).toString('latin1'));
    return Number.isSafeInteger(serial) ? serial : 0;
  }

  note(epoch: number, serial: number): void {
    this.#pending = { epoch, serial };
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_EVERY_MS);
  }

  /** Writes what is pending; never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending === undefined) return;
    const { epoch, serial } = pending;
    try {
      await this.#bucket.put(keyOf(epoch), Buffer.from(String(serial), 'latin1'));
    } catch {
      // A second line of defence: the stream itself says which serials were given.
      this.#failures += 1;
    }
  }
}

function keyOf(epoch: number): BucketKey {
  return escapeKey('serial', String(epoch));
}
