import { type Bucket, type BucketKey, escapeKey } from '@brine/bus';
import type { PublicationTimes, Published } from '@brine/bus/jobs';
import { MAX_LATER_JOBS } from './again-rule.ts';
import type { Epochs, HighWater } from './ports.ts';

/**
 * The serial of publications: the time at which the stream stored each, in microseconds, or one
 * more than the serial before if that is higher. Every publisher that reads the same stream gets
 * the same numbers, also after a restart. A minion drops a serial that is not greater than the last
 * it saw under the same AES key (Salt: salt/crypt.py Crypticle.loads).
 */
export class SerialClock {
  #last = 0;

  /** The serial given last; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** The serial of the next message of the stream. */
  next(timeUs: number): number {
    this.#last = Math.max(timeUs, this.#last + 1);
    return this.#last;
  }

  /**
   * Begins a new AES key: minions have forgotten the serials of the old one. Serials of the new key
   * are above the time of its marker, so lower ones may go out under it too.
   */
  newKey(markerTimeUs: number): void {
    this.#last = markerTimeUs;
  }
}

/**
 * Chooses the epoch whose AES key seals a message of the stream: that of the last marker before it.
 * The exception is a message that a newer key has overtaken, such as all that a start reads back
 * from before a rotation. Minions have the new key by then; a minion that receives a frame of the
 * old key logs in and drops the frame.
 */
export class EpochChoice {
  readonly #epochs: Pick<Epochs, 'overtaking'>;
  #marked = 0;
  #readBackTo = 0;
  #rememberedFrom = 0;

  constructor(epochs: Pick<Epochs, 'overtaking'>) {
    this.#epochs = epochs;
  }

  /** Begins with this epoch; `before` is the present content of the stream. */
  seed(epoch: number, before: PublicationTimes['times']): void {
    this.#marked = epoch;
    this.#readBackTo = before.at(-1)?.seq ?? 0;
    const jobs = before.filter(({ kind }) => kind === 'job');
    this.#rememberedFrom = jobs.at(-MAX_LATER_JOBS)?.seq ?? 0;
  }

  /** From here on the key of this epoch is in force. */
  marker(epoch: number): void {
    this.#marked = epoch;
  }

  /** The epoch for a message of the stream. */
  of(published: Exclude<Published, { kind: 'marker' }>, serial: number): number {
    const { seq } = published;
    const jobSeq = published.kind === 'again' ? published.again.seq : seq;
    // A minion forgets the serials it has seen when it takes the new key. Then only the jid keeps
    // it from running a job twice, and it remembers only the last jids.
    if (seq <= this.#readBackTo && jobSeq < this.#rememberedFrom) return this.#marked;
    return this.#epochs.overtaking(seq, serial) ?? this.#marked;
  }
}

const WRITE_EVERY_MS = 1_000;

/** Keeps the highest serial of each epoch in `brine_secrets`, beside the keys; it is no secret. */
export class BucketHighWater implements HighWater {
  readonly #bucket: Bucket;
  #pending: { readonly epoch: number; readonly serial: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  /** Writes that failed. */
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
      // Only a second line of defence: the stream itself shows which serials were given.
      this.#failures += 1;
    }
  }
}

function keyOf(epoch: number): BucketKey {
  return escapeKey('serial', String(epoch));
}
