import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { streamInfo } from '../connection/js-api.ts';
import type { Received } from '../streams/stream-reader.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import type { BucketKey } from '../subjects/escape.ts';
import type { BucketName } from '../subjects/names.ts';

/** A key of a bucket that has a new value; the value itself is not read. */
export interface BucketChange {
  readonly key: BucketKey;
  readonly revision: number;
  /** When it was written, in ms since 1970. */
  readonly timeMs: number;
}

/** How far a bucket was followed. It is valid only until the bucket is recreated. */
export interface BucketPlace {
  readonly incarnation: string;
  readonly revision: number;
}

/** Changes that are read and not taken yet. */
const READ_AHEAD = 256;

/**
 * Follows a bucket at the pace of its user: first the changes since a place, or every key, then
 * each new change. Values are left out, so that neither many keys nor large values fill the memory.
 * For a copy that is always up to date see `Bucket.watch`.
 */
export class BucketFollower {
  readonly #reader: StreamReader;
  readonly #prefix: string;
  #place: BucketPlace;

  private constructor(reader: StreamReader, name: BucketName, place: BucketPlace) {
    this.#reader = reader;
    this.#prefix = `$KV.${name}.`;
    this.#place = place;
  }

  /**
   * Begins after a place. Without one, or if it is of another bucket, begins with every key.
   * @throws BusError `BUS_STREAM_AWAY` if there is no bucket, and as `Inbox.request` does
   */
  static async open(bus: Bus, name: BucketName, after?: BucketPlace): Promise<BucketFollower> {
    const stream = `KV_${name}`;
    const info = await streamInfo(bus, stream);
    if (info === undefined) throw new BusError('BUS_STREAM_AWAY', `there is no bucket ${name}`);
    const { incarnation, lastSeq } = info;
    const isSame = after?.incarnation === incarnation && after.revision <= lastSeq;
    const reader = new StreamReader(bus, {
      stream,
      from: isSame ? { seq: after.revision + 1, incarnation } : 'last',
      headersOnly: true,
      readAhead: READ_AHEAD,
    });
    const place = isSame ? after : { incarnation, revision: 0 };
    return new BucketFollower(reader, name, place);
  }

  /** Everything up to here was taken. */
  get place(): BucketPlace {
    return this.#place;
  }

  /** True if every key that the bucket has now was read; the last may still be in progress. */
  get caughtUp(): boolean {
    return this.#reader.caughtUp && this.#reader.waiting === 0;
  }

  /**
   * The keys that changed, up to `max` of them, each once with its newest revision; waits for the
   * first one. Empty only when closed.
   */
  async take(max: number): Promise<readonly BucketChange[]> {
    const received = await this.#reader.take(max);
    const changes = new Map<BucketKey, BucketChange>();
    for (const one of received) {
      const change = this.#changeOf(one);
      changes.set(change.key, change);
    }
    return [...changes.values()];
  }

  /** The taken changes are done: {@link place} moves past them. */
  done(changes: readonly BucketChange[]): void {
    const { incarnation } = this.#reader;
    const revision = changes.reduce((last, one) => Math.max(last, one.revision), 0);
    const isOther = incarnation !== undefined && incarnation !== this.#place.incarnation;
    if (isOther) this.#place = { incarnation, revision };
    else if (revision > this.#place.revision) this.#place = { ...this.#place, revision };
  }

  close(): void {
    this.#reader.close();
  }

  #changeOf({ subject, seq, timeUs }: Received): BucketChange {
    const key = subject.slice(this.#prefix.length) as BucketKey;
    return { key, revision: seq, timeMs: Math.floor(timeUs / 1_000) };
  }
}
