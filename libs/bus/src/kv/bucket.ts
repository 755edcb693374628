import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { askJetStream, isRecord, JS_ERRORS, streamInfo, textIn } from '../connection/js-api.ts';
import { append, newMessageId } from '../streams/append.ts';
import { directGet, microseconds } from '../streams/direct-get.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import type { BucketKey } from '../subjects/escape.ts';
import type { BucketName } from '../subjects/names.ts';
import type { BucketEntry } from './bucket-watch.ts';
import type { WatchOptions } from './bucket-watch.ts';
import { BucketWatch } from './bucket-watch.ts';

const PUT_TIMEOUT_MS = 4_000;
const GET_TIMEOUT_MS = 3_000;
/** How long the server keeps this message (nats-server 2.11); only where its stream allows it. */
const TTL_HEADER = 'Nats-TTL';

/** How a value is written. */
export interface WriteOptions {
  /** The value goes after so long, in ms; only the bucket `brine_reactor` allows it. */
  readonly livesMs?: number;
}

/**
 * A bucket of hot state. Each read asks the server and sees every write that was acknowledged. For
 * a copy that follows the bucket see {@link Bucket.watch}. There is no delete: a deletion is a
 * value, so that no stale copy can bring back what was deleted.
 */
export class Bucket {
  readonly name: BucketName;
  readonly #bus: Bus;
  #direct: Promise<boolean> | undefined;

  constructor(bus: Bus, name: BucketName) {
    this.#bus = bus;
    this.name = name;
  }

  /**
   * The value now; undefined where there never was one.
   * @throws BusError `BUS_TIMEOUT`, `BUS_NO_ANSWER`, `BUS_FORBIDDEN`, `BUS_REFUSED`.
   */
  async get(key: BucketKey): Promise<BucketEntry | undefined> {
    const subject = `$KV.${this.name}.${key}`;
    this.#direct ??= this.#mayReadDirectly();
    return (await this.#direct)
      ? this.#getDirectly(key, subject)
      : this.#getFromLeader(key, subject);
  }

  /** Sets a value whatever it was; resolves with the new revision. Throws as {@link create}. */
  put(key: BucketKey, value: Uint8Array, options: WriteOptions = {}): Promise<number> {
    return this.#write(key, value, undefined, options);
  }

  /**
   * Sets a value where there is none.
   * @throws BusError `BUS_CONFLICT` where there is one; `BUS_STREAM_AWAY`, `BUS_FORBIDDEN`.
   */
  create(key: BucketKey, value: Uint8Array, options: WriteOptions = {}): Promise<number> {
    return this.#write(key, value, 0, options);
  }

  /**
   * Sets a value if it is still the one of `revision`.
   * @throws BusError `BUS_CONFLICT` where it is not; `BUS_STREAM_AWAY`, `BUS_FORBIDDEN`.
   */
  update(
    key: BucketKey,
    value: Uint8Array,
    revision: number,
    options: WriteOptions = {},
  ): Promise<number> {
    return this.#write(key, value, revision, options);
  }

  /** All values as they are when it is called, in the order of their last change. */
  async *entries(): AsyncGenerator<BucketEntry, void> {
    const info = await streamInfo(this.#bus, `KV_${this.name}`);
    if (info === undefined || info.messages === 0) return;
    const reader = new StreamReader(this.#bus, { stream: `KV_${this.name}`, from: 'last' });
    try {
      for (;;) {
        const batch = await reader.take(500);
        if (batch.length === 0) throw new BusError('BUS_CLOSED', 'closed while reading a bucket');
        for (const received of batch) {
          yield {
            key: received.subject.slice(`$KV.${this.name}.`.length) as BucketKey,
            value: received.data,
            revision: received.seq,
            timeMs: Math.floor(received.timeUs / 1_000),
          };
          if (received.seq >= info.lastSeq || received.pending === 0) return;
        }
      }
    } finally {
      reader.close();
    }
  }

  /** Follows the bucket: `onChange` is called for every value there is, then for every change. */
  watch(options: WatchOptions): BucketWatch {
    return new BucketWatch(this.#bus, this.name, options);
  }

  async #write(
    key: BucketKey,
    value: Uint8Array,
    expected: number | undefined,
    { livesMs }: WriteOptions,
  ): Promise<number> {
    try {
      const { seq } = await append(this.#bus, {
        subject: `$KV.${this.name}.${key}`,
        payload: value,
        timeoutMs: PUT_TIMEOUT_MS,
        ...(livesMs === undefined ? {} : { headers: { [TTL_HEADER]: seconds(livesMs) } }),
        // By its id, or by the revision it expects, a write may be sent twice and is done once.
        ...(expected === undefined ? { msgId: newMessageId() } : { expectedRevision: expected }),
      });
      return seq;
    } catch (error) {
      const conflict = error instanceof BusError && error.code === 'BUS_CONFLICT';
      if (!conflict) throw error;
      // A lost acknowledgement makes the second send of our own write a conflict with the first.
      const entry = await this.get(key);
      const ours = entry !== undefined && entry.revision > (expected ?? 0);
      if (ours && Buffer.compare(entry.value, value) === 0) return entry.revision;
      throw error;
    }
  }

  async #mayReadDirectly(): Promise<boolean> {
    try {
      const info = await streamInfo(this.#bus, `KV_${this.name}`);
      return info?.config['allow_direct'] === true;
    } catch (error) {
      this.#direct = undefined;
      throw error;
    }
  }

  async #getDirectly(key: BucketKey, subject: string): Promise<BucketEntry | undefined> {
    const place = { lastOf: subject };
    const stored = await directGet(this.#bus, `KV_${this.name}`, place, GET_TIMEOUT_MS);
    if (stored === undefined) return undefined;
    const { data, seq, timeUs } = stored;
    return { key, value: data, revision: seq, timeMs: Math.floor(timeUs / 1_000) };
  }

  async #getFromLeader(key: BucketKey, subject: string): Promise<BucketEntry | undefined> {
    const verb = `STREAM.MSG.GET.KV_${this.name}`;
    const answer = await askJetStream(this.#bus, verb, { last_by_subj: subject }, GET_TIMEOUT_MS);
    if (!answer.ok) {
      if (answer.number === JS_ERRORS.noMessage) return undefined;
      throw new BusError('BUS_REFUSED', `no read of ${this.name}: ${answer.text}`);
    }
    const message = answer.value['message'];
    if (!isRecord(message)) throw new BusError('BUS_BAD_MESSAGE', 'a read without a message');
    return {
      key,
      value: Buffer.from(textIn(message, 'data'), 'base64'),
      revision: Number(message['seq']),
      timeMs: Math.floor(microseconds(textIn(message, 'time')) / 1_000),
    };
  }
}

/** A second at least: the server takes no shorter age. */
function seconds(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1_000))}s`;
}
