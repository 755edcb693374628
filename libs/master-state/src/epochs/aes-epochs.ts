import { setTimeout as sleep } from 'node:timers/promises';
import {
  Bucket,
  type BucketWatch,
  type Bus,
  BusError,
  changeValue,
  escapeKey,
  handleEach,
  isRecord,
  splitKey,
  STREAMS,
  subjects,
  waitForStreams,
} from '@brine/bus';
import { PublicationReader, PublicationWriter } from '@brine/bus/jobs';
import { newKeyString, type SecretBox } from '@brine/crypt';
import { until } from '../until.ts';
import { EpochHolders } from './epoch-holders.ts';

/** One master AES key and its number. */
export interface AesEpoch {
  readonly epoch: number;
  /** The key in the form of Salt's Crypticle. */
  readonly keyString: string;
  /** Time of its creation, unix ms. */
  readonly madeMs?: number;
}

/**
 * Time that a rotation waits for all processes, ms. A slower process fetches the key when needed.
 */
const HOLDERS_WAIT_MS = 3_000;
/** Retention of old keys: publications are sent, and read again, for half a minute. */
const KEPT_MS = 3_600_000;
const PRUNED = Buffer.alloc(0);
const START_WAIT_MS = 15_000;
const POLL_MS = 20;
const CURRENT = escapeKey('aes-current');

/**
 * The master's AES keys, one per epoch, shared by all processes. The keys are in `brine_secrets`,
 * sealed. A marker in PUBLICATIONS defines the first publication of an epoch. The bucket also has
 * the epoch of the last marker, because the purge of the stream removes markers.
 */
export class AesEpochs {
  readonly #bus: Bus;
  readonly #box: SecretBox;
  readonly #bucket: Bucket;
  readonly #keys = new Map<number, AesEpoch>();
  readonly #watch: BucketWatch;
  readonly #markers: EpochMarkers;
  readonly #holders: EpochHolders;
  #current = 0;
  #noted = 0;
  #unreadable = 0;
  #rotating: Promise<AesEpoch> | undefined;

  private constructor(bus: Bus, box: SecretBox) {
    this.#bus = bus;
    this.#box = box;
    this.#bucket = new Bucket(bus, 'brine_secrets');
    this.#watch = this.#bucket.watch({
      onChange: (entry) => this.#changed(entry.key, entry.value),
      // Keys stay: minions still use those of a bucket that was restored.
      onReset: () => undefined,
    });
    this.#holders = new EpochHolders(bus, () => this.holding);
    this.#markers = new EpochMarkers(bus, (epoch) => this.#marked(epoch));
  }

  /**
   * Waits for the streams (or those in `of`), reads keys and markers, and makes the first epoch if
   * there is no epoch yet.
   * @throws BusError after a timeout
   */
  static async connect(bus: Bus, box: SecretBox, of?: readonly string[]): Promise<AesEpochs> {
    await waitForStreams(bus, of === undefined ? {} : { of });
    const epochs = new AesEpochs(bus, box);
    try {
      await epochs.#watch.whenReady();
      if (epochs.holding === 0) await epochs.#make(1);
      await epochs.#markers.caughtUp(START_WAIT_MS);
      const lowest = Math.min(...epochs.#keys.keys());
      const known = Math.max(epochs.#current, epochs.#noted);
      epochs.#current = known > 0 ? known : lowest;
      await epochs.keyOf(epochs.#current);
      epochs.#holders.announce();
      return epochs;
    } catch (error) {
      epochs.close();
      throw error;
    }
  }

  /** The epoch of the last marker, and its key. Known once connected. */
  current(): AesEpoch {
    const kept = this.#keys.get(this.#current);
    if (kept === undefined) throw new BusError('BUS_BODY_GONE', 'the AES key is not loaded yet');
    return kept;
  }

  /**
   * As {@link current}, after the end of a started rotation: its marker may be in the stream
   * although this process has not read it yet.
   * @throws BusError `BUS_TIMEOUT` if the markers can not be read in time.
   */
  async settled(timeoutMs: number): Promise<AesEpoch> {
    if (this.holding > this.#current) await this.#markers.caughtUp(timeoutMs);
    return this.current();
  }

  /**
   * Calls back when another publisher has gone: its minions receive nothing until they reconnect.
   */
  onPublisherGone(callback: () => void): void {
    this.#holders.onPublisherGone(callback);
  }

  /** The key of an epoch, if this process has it. */
  byEpoch(epoch: number): AesEpoch | undefined {
    return this.#keys.get(epoch);
  }

  /**
   * The key of an epoch, from memory or the bucket.
   * @throws BusError `BUS_BODY_GONE` for an unknown epoch
   */
  async keyOf(epoch: number): Promise<AesEpoch> {
    const kept = this.#keys.get(epoch);
    if (kept !== undefined) return kept;
    const key = escapeKey('aes', String(epoch));
    const entry = await this.#bucket.get(key);
    if (entry !== undefined) this.#changed(key, entry.value);
    const read = this.#keys.get(epoch);
    if (read === undefined) throw new BusError('BUS_BODY_GONE', `no AES key of epoch ${epoch}`);
    return read;
  }

  /** The epoch of the publication at a sequence. */
  epochAt(seq: number): number {
    const marker = this.#markers.before(seq);
    if (marker !== undefined) return marker.epoch;
    const first = this.#markers.first;
    if (first === undefined) return this.#current;
    const below = [...this.#keys.keys()].filter((epoch) => epoch < first.epoch);
    return below.length > 0 ? Math.max(...below) : first.epoch;
  }

  /**
   * The current epoch, if the publication at `seq` has an earlier one. Minions have the key of the
   * last marker, and a frame of an older key makes them log in. Undefined if `seq` has the current
   * epoch. Undefined too if its serial is not below those of the new key, which begin at the
   * marker's time: a minion would then drop the lower serials that follow.
   */
  overtaking(seq: number, serial: number): number | undefined {
    const last = this.#markers.last;
    return last !== undefined && seq < last.seq && serial < last.timeUs ? last.epoch : undefined;
  }

  /** The highest epoch whose key this process has; 0: none. */
  get holding(): number {
    return Math.max(0, ...this.#keys.keys());
  }

  /** Number of secrets in the bucket that this master's key did not open. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** True while keys and markers are followed. */
  get ready(): boolean {
    return this.#watch.ready && this.#markers.reading;
  }

  /**
   * Starts the next epoch. Its key goes to the bucket; all announced processes have up to 3 s to
   * load it; then the marker is appended. Concurrent calls, here or in another process, start the
   * same epoch. Resolves when this process has read the marker.
   * @throws BusError `BUS_STREAM_AWAY`, `BUS_STREAM_FULL`, `BUS_FORBIDDEN`, `BUS_TIMEOUT`.
   */
  rotate(): Promise<AesEpoch> {
    this.#rotating ??= this.#rotate().finally(() => {
      this.#rotating = undefined;
    });
    return this.#rotating;
  }

  /**
   * Deletes keys that were replaced more than an hour ago, everywhere. A thief of the bucket and of
   * `master.pem` then can not read what was published under them.
   * @returns the number of deleted keys
   */
  async prune(nowMs = Date.now()): Promise<number> {
    let pruned = 0;
    for (const epoch of [...this.#keys.keys()].sort((one, other) => one - other)) {
      const madeMs = this.#keys.get(epoch + 1)?.madeMs;
      if (epoch >= this.#current || madeMs === undefined || nowMs - madeMs < KEPT_MS) break;
      // A value, like all deletions in a bucket: `create` of this epoch must fail for ever.
      await this.#bucket.put(escapeKey('aes', String(epoch)), PRUNED);
      this.#keys.delete(epoch);
      pruned += 1;
    }
    return pruned;
  }

  close(): void {
    this.#watch.close();
    this.#markers.close();
    this.#holders.close();
  }

  async #rotate(): Promise<AesEpoch> {
    const epoch = this.#current + 1;
    // The key of an unfinished rotation was never used, so it can be used now.
    if (!this.#keys.has(epoch)) await this.#make(epoch);
    this.#holders.announce();
    await until(HOLDERS_WAIT_MS, () => this.#holders.allHave(epoch));
    await new PublicationWriter(this.#bus).appendMarker({ epoch });
    await this.#markers.caughtUp(HOLDERS_WAIT_MS);
    return this.keyOf(Math.max(epoch, this.#current));
  }

  async #make(epoch: number): Promise<void> {
    const value = { epoch, key: newKeyString(), createdAt: Date.now() };
    const sealed = this.#box.seal(Buffer.from(JSON.stringify(value), 'utf8'));
    const created = await this.#bucket.create(escapeKey('aes', String(epoch)), sealed);
    // If another process was first, its key counts.
    if (created === undefined) await this.keyOf(epoch);
    else this.#keys.set(epoch, { epoch, keyString: value.key, madeMs: value.createdAt });
  }

  #marked(epoch: number): void {
    this.#current = Math.max(this.#current, epoch);
    // The key is here by now, unless the rotation timed out waiting for this process.
    if (!this.#keys.has(epoch)) void this.keyOf(epoch).catch(() => undefined);
    void this.#note(epoch);
  }

  /** Stores the epoch of the last marker in the bucket; it only increases. */
  async #note(epoch: number): Promise<void> {
    if (this.#noted >= epoch) return;
    try {
      await changeValue(this.#bucket, CURRENT, (entry) => {
        const noted = entry === undefined ? 0 : (readNote(entry.value) ?? 0);
        if (noted >= epoch) return { answer: undefined };
        return { answer: undefined, value: Buffer.from(JSON.stringify({ epoch })) };
      });
    } catch (error) {
      // Each process that reads the marker later tries again.
      if (!(error instanceof BusError)) throw error;
    }
  }

  #changed(key: string, value: Uint8Array): void {
    if (key === CURRENT) {
      this.#noted = Math.max(this.#noted, readNote(value) ?? 0);
      return;
    }
    const [kind, number] = splitKey(key);
    if (kind !== 'aes' || number === undefined) return;
    if (value.length === 0) {
      this.#keys.delete(Number(number));
      return;
    }
    try {
      const secret = readSecret(this.#box.open(value));
      if (secret !== undefined) this.#keys.set(secret.epoch, secret);
    } catch {
      // Sealed with another master's key, or damaged: treated as missing.
      this.#unreadable++;
    }
    this.#holders?.announce();
  }
}

function readSecret(bytes: Uint8Array): AesEpoch | undefined {
  const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
  if (!isRecord(value)) return undefined;
  const { epoch, key, createdAt } = value;
  if (typeof epoch !== 'number' || typeof key !== 'string') return undefined;
  return {
    epoch,
    keyString: key,
    ...(typeof createdAt === 'number' ? { madeMs: createdAt } : {}),
  };
}

function readNote(bytes: Uint8Array): number | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return isRecord(value) && typeof value['epoch'] === 'number' ? value['epoch'] : undefined;
  } catch {
    return undefined; // not written by us; the markers have the epoch too
  }
}

/** From this sequence of PUBLICATIONS on, the key of this epoch is used. */
interface EpochMarker {
  readonly seq: number;
  readonly epoch: number;
  /** Storage time in the stream, µs since 1970. */
  readonly timeUs: number;
}

/** Limit of remembered markers; the stream is purged long before it has so many. */
const MAX_MARKERS = 1_000;

/** The markers of PUBLICATIONS: the stored ones, then each new one. */
class EpochMarkers {
  readonly #bus: Bus;
  readonly #reader: PublicationReader;
  readonly #onMarker: (epoch: number) => void;
  #markers: EpochMarker[] = [];
  #incarnation: string | undefined;
  #closed = false;

  constructor(bus: Bus, onMarker: (epoch: number) => void) {
    this.#bus = bus;
    this.#onMarker = onMarker;
    this.#reader = new PublicationReader(bus, { kinds: ['marker'], from: 'all' });
    void this.#follow();
  }

  /** True while the stream is read. */
  get reading(): boolean {
    return this.#reader.reading;
  }

  /** The marker that applies to a publication; undefined if none before it is known. */
  before(seq: number): EpochMarker | undefined {
    return this.#markers.findLast((marker) => marker.seq < seq);
  }

  /** The last known marker. */
  get last(): EpochMarker | undefined {
    return this.#markers.at(-1);
  }

  /** The first known marker. */
  get first(): EpochMarker | undefined {
    return this.#markers[0];
  }

  /**
   * Resolves when all stored markers have been read.
   * @throws BusError `BUS_TIMEOUT` if that takes longer, and as `Inbox.request` does.
   */
  async caughtUp(timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    const last = await this.#lastStored();
    while ((this.#markers.at(-1)?.seq ?? 0) < last && !this.#closed) {
      if (performance.now() > until) {
        throw new BusError('BUS_TIMEOUT', 'the markers of the AES epochs were not read in time');
      }
      await sleep(POLL_MS);
    }
  }

  close(): void {
    this.#closed = true;
    this.#reader.close();
  }

  #follow(): Promise<void> {
    return handleEach(this.#reader, (published) => {
      if (published.kind !== 'marker') return;
      if (published.incarnation !== this.#incarnation) {
        // Another stream: its sequences have no relation to the remembered ones.
        this.#incarnation = published.incarnation;
        this.#markers = [];
      }
      const { seq, timeUs, marker } = published;
      this.#markers.push({ seq, epoch: marker.epoch, timeUs });
      if (this.#markers.length > MAX_MARKERS) this.#markers.shift();
      this.#onMarker(marker.epoch);
    });
  }

  async #lastStored(): Promise<number> {
    const query = JSON.stringify({ last_by_subj: subjects.publication('marker') });
    const verb = `$JS.API.DIRECT.GET.${STREAMS.publications}`;
    const msg = await this.#bus.inbox.request(verb, query, { timeoutMs: 3_000 });
    const code = msg.headers?.code ?? 0;
    if (code === 404) return 0;
    if (code !== 0) throw new BusError('BUS_REFUSED', `no read of the last marker: ${code}`);
    return Number(msg.headers?.get('Nats-Sequence'));
  }
}
