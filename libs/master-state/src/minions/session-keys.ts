import { type Bucket, type BucketEntry, escapeKey, splitKey } from '@brine/bus';
import { Crypticle, newKeyString, type SecretBox } from '@brine/crypt';
import type { SessionKeys } from '@brine/master';
import { LRUCache } from 'lru-cache';
import { fromHotState, SingleFlight } from '../hot-state.ts';

/** Number of cached opened keys, 2 KB each. The sealed ones, 300 bytes, are all in memory. */
const OPENED_KEPT_MAX = 20_000;

/** By size, each entry 1: with `max` the cache would allocate all entries at once. */
const PLACES = { maxSize: OPENED_KEPT_MAX, sizeCalculation: () => 1 };

/**
 * Time that a replaced session key still opens requests: the minion gets the new one at its next
 * log-in.
 */
const OVERLAP_MS = 60_000;

/**
 * After a wrong MAC the key is read from the source at most this often per id. Otherwise a stranger
 * with a known id could cause load on the hot state.
 */
const REFETCH_PAUSE_MS = 250;

/** A session key as stored in its record. */
export interface Session {
  readonly key: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly previous?: string;
}

/** A record from the watch. */
interface Sealed {
  readonly value: Uint8Array;
  readonly revision: number;
}

interface Opened {
  readonly session: Session;
  readonly keys: readonly Crypticle[];
  readonly revision: number;
}

/** Session keys of version 3 minions, from the sealed `brine_sessions` bucket. */
export class BucketSessionKeys implements SessionKeys {
  readonly #bucket: Bucket;
  readonly #box: SecretBox;
  /** Seconds after which a key is renewed (`publish_session`); 0: never. */
  readonly #maxAgeSeconds: number;
  readonly #opened = new LRUCache<string, Opened>(PLACES);
  readonly #fetchedAt = new LRUCache<string, number>(PLACES);
  readonly #flights = new SingleFlight<readonly Crypticle[]>();
  readonly #creations = new SingleFlight<Crypticle>();
  readonly #sealed = new Map<string, Sealed>();

  constructor(bucket: Bucket, box: SecretBox, maxAgeSeconds: number) {
    this.#bucket = bucket;
    this.#box = box;
    this.#maxAgeSeconds = maxAgeSeconds;
  }

  /** Applies a change of the bucket; the next use opens the new value. */
  changed(entry: BucketEntry): void {
    const [id = ''] = splitKey(entry.key);
    const { revision } = entry;
    if ((this.#sealed.get(id)?.revision ?? 0) > revision) return;
    const known = this.#opened.peek(id);
    if (known !== undefined && known.revision < revision) this.#opened.delete(id);
    // An empty value means that the minion's key was deleted.
    if (entry.value.length === 0) this.#sealed.delete(id);
    // A copy, because the value would keep its whole message in memory.
    else this.#sealed.set(id, { value: Uint8Array.from(entry.value), revision });
  }

  /** Forgets everything, because the bucket was replaced. */
  reset(): void {
    this.#sealed.clear();
    this.#opened.clear();
    this.#fetchedAt.clear();
  }

  cached(id: string): readonly Crypticle[] {
    const opened = this.#opened.get(id);
    if (opened !== undefined) return opened.keys;
    // Another worker made it, so the first return of a minion here needs no read from the source.
    const sealed = this.#sealed.get(id);
    return sealed === undefined ? [] : this.#open(id, sealed).keys;
  }

  fetch(id: string): Promise<readonly Crypticle[]> {
    return this.#flights.run(id, async () => {
      const now = performance.now();
      if (now - (this.#fetchedAt.get(id) ?? -Infinity) < REFETCH_PAUSE_MS) return this.cached(id);
      const entry = await this.#entry(id);
      // Only an answer counts: without a key because of an outage, the minion would log in again.
      this.#fetchedAt.set(id, now);
      return this.#take(id, entry)?.keys ?? [];
    });
  }

  current(id: string): Promise<Crypticle> {
    const opened = this.#opened.get(id);
    if (opened !== undefined && this.#isFresh(opened.session)) {
      const key = opened.keys[0];
      if (key !== undefined) return Promise.resolve(key);
    }
    return this.#creations.run(id, () => this.#readOrCreate(id));
  }

  count(): number {
    return this.#sealed.size;
  }

  has(id: string): boolean {
    return this.#sealed.has(id);
  }

  async #readOrCreate(id: string): Promise<Crypticle> {
    for (;;) {
      const entry = await this.#entry(id);
      const known = this.#take(id, entry);
      const current = known?.keys[0];
      if (known !== undefined && current !== undefined && this.#isFresh(known.session)) {
        return current;
      }
      const session: Session = {
        key: newKeyString(),
        createdAt: Date.now(),
        ...(known === undefined ? {} : { previous: known.session.key }),
      };
      const value = sealSession(this.#box, session);
      const written = this.#bucket.update(escapeKey(id), value, entry?.revision ?? 0);
      const revision = await fromHotState('session keys', written);
      // Another worker was first: its key counts.
      if (revision === undefined) continue;
      this.#sealed.set(id, { value, revision });
      return this.#remember(id, session, revision).keys[0] ?? new Crypticle(session.key);
    }
  }

  #entry(id: string): Promise<BucketEntry | undefined> {
    return fromHotState('session keys', this.#bucket.get(escapeKey(id)));
  }

  #take(id: string, entry: BucketEntry | undefined): Opened | undefined {
    if (entry === undefined || entry.value.length === 0) return undefined;
    const sealed = { value: Uint8Array.from(entry.value), revision: entry.revision };
    this.#sealed.set(id, sealed);
    return this.#open(id, sealed);
  }

  /** @throws if the record was not sealed with this master's key. */
  #open(id: string, { value, revision }: Sealed): Opened {
    return this.#remember(id, openSession(this.#box, value), revision);
  }

  #remember(id: string, session: Session, revision: number): Opened {
    const overlaps = session.previous !== undefined && Date.now() - session.createdAt < OVERLAP_MS;
    const keys = [new Crypticle(session.key)];
    if (overlaps && session.previous !== undefined) keys.push(new Crypticle(session.previous));
    const opened = { session, keys, revision };
    this.#opened.set(id, opened);
    return opened;
  }

  #isFresh(session: Session): boolean {
    if (this.#maxAgeSeconds <= 0) return true;
    return Date.now() - session.createdAt < this.#maxAgeSeconds * 1000;
  }
}

/** The record of a session key. */
export function sealSession(box: SecretBox, session: Session): Uint8Array {
  return box.seal(Buffer.from(JSON.stringify(session), 'utf8'));
}

/** Reads {@link sealSession}. @throws if it was not sealed with this master's key */
export function openSession(box: SecretBox, sealed: Uint8Array): Session {
  const value: unknown = JSON.parse(Buffer.from(box.open(sealed)).toString('utf8'));
  if (typeof value === 'object' && value !== null) {
    const { key, createdAt, previous } = value as Record<string, unknown>;
    if (typeof key === 'string' && typeof createdAt === 'number') {
      return { key, createdAt, ...(typeof previous === 'string' ? { previous } : {}) };
    }
  }
  throw new TypeError('a session record has no key');
}
