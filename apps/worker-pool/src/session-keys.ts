import { escapeKey, splitKey, type Bucket, type BucketEntry } from '@brine/bus';
import { Crypticle, newKeyString, type SecretBox } from '@brine/crypt';
import type { SessionKeys } from '@brine/master';
import { LRUCache } from 'lru-cache';
import { fromHotState, SingleFlight, unlessConflict } from './hot-state.ts';

/** Opened session keys kept; one is some 2 KB. The sealed ones are all in memory. */
const OPENED_KEPT_MAX = 20_000;

/**
 * A replaced session key opens requests for this long: the minion learns of the new one at its next
 * log-in.
 */
const OVERLAP_MS = 60_000;

/**
 * A failing MAC is looked up at the source at most this often per id, so that a stranger who knows
 * an id cannot turn garbage into load on the hot state.
 */
const REFETCH_PAUSE_MS = 250;

interface Session {
  readonly key: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly previous?: string;
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
  /** Seconds after which a key is renewed (`publish_session`); 0 keeps it. */
  readonly #maxAgeSeconds: number;
  readonly #opened = new LRUCache<string, Opened>({ max: OPENED_KEPT_MAX });
  readonly #fetchedAt = new LRUCache<string, number>({ max: OPENED_KEPT_MAX });
  readonly #flights = new SingleFlight<readonly Crypticle[]>();
  readonly #creations = new SingleFlight<Crypticle>();
  readonly #ids = new Set<string>();

  constructor(bucket: Bucket, box: SecretBox, maxAgeSeconds: number) {
    this.#bucket = bucket;
    this.#box = box;
    this.#maxAgeSeconds = maxAgeSeconds;
  }

  /** Takes a change of the bucket: the next use opens the new value. */
  changed(entry: BucketEntry): void {
    const [id = ''] = splitKey(entry.key);
    this.#ids.add(id);
    const known = this.#opened.peek(id);
    if (known !== undefined && known.revision < entry.revision) this.#opened.delete(id);
  }

  /** Forgets everything: the bucket is another one than before. */
  reset(): void {
    this.#ids.clear();
    this.#opened.clear();
    this.#fetchedAt.clear();
  }

  cached(id: string): readonly Crypticle[] {
    return this.#opened.get(id)?.keys ?? [];
  }

  fetch(id: string): Promise<readonly Crypticle[]> {
    return this.#flights.run(id, async () => {
      const now = Date.now();
      if (now - (this.#fetchedAt.get(id) ?? 0) < REFETCH_PAUSE_MS) return this.cached(id);
      this.#fetchedAt.set(id, now);
      return (await this.#read(id))?.keys ?? [];
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
    return this.#ids.size;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  async #readOrCreate(id: string): Promise<Crypticle> {
    for (;;) {
      const known = await this.#read(id);
      const current = known?.keys[0];
      if (known !== undefined && current !== undefined && this.#isFresh(known.session)) {
        return current;
      }
      const session: Session = {
        key: newKeyString(),
        createdAt: Date.now(),
        ...(known === undefined ? {} : { previous: known.session.key }),
      };
      const sealed = this.#box.seal(Buffer.from(JSON.stringify(session), 'utf8'));
      const name = escapeKey(id);
      const revision = await unlessConflict(
        'session keys',
        known === undefined
          ? this.#bucket.create(name, sealed)
          : this.#bucket.update(name, sealed, known.revision),
      );
      // Another worker was first: its key is the one.
      if (revision === undefined) continue;
      return this.#remember(id, session, revision).keys[0] ?? new Crypticle(session.key);
    }
  }

  async #read(id: string): Promise<Opened | undefined> {
    const entry = await fromHotState('session keys', this.#bucket.get(escapeKey(id)));
    if (entry === undefined) return undefined;
    const session = parseSession(this.#box.open(entry.value));
    return this.#remember(id, session, entry.revision);
  }

  #remember(id: string, session: Session, revision: number): Opened {
    const overlaps = session.previous !== undefined && Date.now() - session.createdAt < OVERLAP_MS;
    const keys = [new Crypticle(session.key)];
    if (overlaps && session.previous !== undefined) keys.push(new Crypticle(session.previous));
    const opened = { session, keys, revision };
    this.#opened.set(id, opened);
    this.#ids.add(id);
    return opened;
  }

  #isFresh(session: Session): boolean {
    if (this.#maxAgeSeconds <= 0) return true;
    return Date.now() - session.createdAt < this.#maxAgeSeconds * 1000;
  }
}

function parseSession(text: Uint8Array): Session {
  const value: unknown = JSON.parse(Buffer.from(text).toString('utf8'));
  if (typeof value === 'object' && value !== null) {
    const { key, createdAt, previous } = value as Record<string, unknown>;
    if (typeof key === 'string' && typeof createdAt === 'number') {
      return { key, createdAt, ...(typeof previous === 'string' ? { previous } : {}) };
    }
  }
  throw new TypeError('a session record holds no key');
}
