import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { askJetStream, isRecord, JS_ERRORS, streamInfo, textIn } from '../connection/js-api.ts';
import { append, MSG_ID, newMessageId } from '../streams/append.ts';
import { directGet, microseconds } from '../streams/direct-get.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import type { BucketKey } from '../subjects/escape.ts';
import type { BucketName } from '../subjects/names.ts';
import type { BucketEntry } from './bucket-watch.ts';
import type { WatchOptions } from './bucket-watch.ts';
import { BucketWatch } from './bucket-watch.ts';

const PUT_TIMEOUT_MS = 4_000;
const GET_TIMEOUT_MS = 3_000;
/** Sets how long the server keeps this message (nats-server 2.11), if its stream allows it. */
const TTL_HEADER = 'Nats-TTL';

/** Finds the message id in the raw headers of the leader's answer. */
const MSG_ID_LINE = new RegExp(`^${MSG_ID}: *(.*?)\r$`, 'm');

/** A value, and the id of its write. */
interface Stored {
  readonly entry: BucketEntry;
  readonly msgId: string;
}

/** Options of a write. */
export interface WriteOptions {
  /** It expires after this time, ms; only the buckets in `FORGETS_SOME` of the streams allow it. */
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
   * The value now; undefined if it was never set.
   * @throws BusError `BUS_TIMEOUT`, `BUS_NO_ANSWER`, `BUS_FORBIDDEN`, `BUS_REFUSED`.
   */
  async get(key: BucketKey): Promise<BucketEntry | undefined> {
    return (await this.#read(key))?.entry;
  }

  /**
   * Sets a value whatever it was; resolves with the new revision.
   * @throws BusError `BUS_STREAM_AWAY`, `BUS_FORBIDDEN`
   */
  put(key: BucketKey, value: Uint8Array, options: WriteOptions = {}): Promise<number> {
    return this.#write(key, value, { msgId: newMessageId() }, options);
  }

  /**
   * Sets a value if the key has none; resolves with its revision, or undefined if it has one.
   * Throws as {@link put}.
   */
  create(
    key: BucketKey,
    value: Uint8Array,
    options: WriteOptions = {},
  ): Promise<number | undefined> {
    return this.update(key, value, 0, options);
  }

  /**
   * Sets a value if its revision is still `revision`, or, with 0, if the key has none. Resolves
   * with the new revision; undefined if another writer was first. Throws as {@link put}.
   */
  async update(
    key: BucketKey,
    value: Uint8Array,
    revision: number,
    options: WriteOptions = {},
  ): Promise<number | undefined> {
    const msgId = newMessageId();
    try {
      return await this.#write(key, value, { msgId, expectedRevision: revision }, options);
    } catch (error) {
      if (!(error instanceof BusError) || error.code !== 'BUS_CONFLICT') throw error;
      // A lost acknowledgement makes the second send of our own write a conflict with the first.
      // Only our write has its id; another writer may have written an equal value.
      const found = await this.#read(key);
      return found?.msgId === msgId ? found.entry.revision : undefined;
    }
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

  /** Follows the bucket: `onChange` is called for every existing value, then for every change. */
  watch(options: WatchOptions): BucketWatch {
    return new BucketWatch(this.#bus, this.name, options);
  }

  async #write(
    key: BucketKey,
    value: Uint8Array,
    once: { readonly msgId: string; readonly expectedRevision?: number },
    { livesMs }: WriteOptions,
  ): Promise<number> {
    const { seq } = await append(this.#bus, {
      subject: `$KV.${this.name}.${key}`,
      payload: value,
      timeoutMs: PUT_TIMEOUT_MS,
      ...(livesMs === undefined ? {} : { headers: { [TTL_HEADER]: seconds(livesMs) } }),
      ...once,
    });
    return seq;
  }

  async #read(key: BucketKey): Promise<Stored | undefined> {
    const subject = `$KV.${this.name}.${key}`;
    this.#direct ??= this.#mayReadDirectly();
    return (await this.#direct)
      ? this.#readDirectly(key, subject)
      : this.#readFromLeader(key, subject);
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

  async #readDirectly(key: BucketKey, subject: string): Promise<Stored | undefined> {
    const place = { lastOf: subject };
    const stored = await directGet(this.#bus, `KV_${this.name}`, place, GET_TIMEOUT_MS);
    if (stored === undefined) return undefined;
    const { data, seq, timeUs } = stored;
    const entry = { key, value: data, revision: seq, timeMs: Math.floor(timeUs / 1_000) };
    return { entry, msgId: stored.header(MSG_ID) };
  }

  async #readFromLeader(key: BucketKey, subject: string): Promise<Stored | undefined> {
    const verb = `STREAM.MSG.GET.KV_${this.name}`;
    const answer = await askJetStream(this.#bus, verb, { last_by_subj: subject }, GET_TIMEOUT_MS);
    if (!answer.ok) {
      if (answer.number === JS_ERRORS.noMessage) return undefined;
      throw new BusError('BUS_REFUSED', `no read of ${this.name}: ${answer.text}`);
    }
    const message = answer.value['message'];
    if (!isRecord(message)) throw new BusError('BUS_BAD_MESSAGE', 'a read without a message');
    const headers = Buffer.from(textIn(message, 'hdrs'), 'base64').toString('latin1');
    const entry = {
      key,
      value: Buffer.from(textIn(message, 'data'), 'base64'),
      revision: Number(message['seq']),
      timeMs: Math.floor(microseconds(textIn(message, 'time')) / 1_000),
    };
    return { entry, msgId: MSG_ID_LINE.exec(headers)?.[1] ?? '' };
  }
}

/** A second at least: the server takes no shorter age. */
function seconds(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1_000))}s`;
}
