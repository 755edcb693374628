import type { Bucket, BucketEntry, BucketWatch } from '@brine/bus';
import { escapeKey, unescapeKey } from '@brine/bus';
import { mayHaveKey } from '@brine/job';
import type { KeyRecord, KeyRecords, StoredKey } from '@brine/pki';

/** The functions of a bucket that the key records need. */
export type KeyBucket = Pick<Bucket, 'update' | 'watch'>;

const STATES: ReadonlySet<unknown> = new Set(['accepted', 'pending', 'rejected', 'deleted']);

/** The bucket of key states, as the sync of files needs it: a copy that follows the bucket. */
export class BucketKeyRecords implements KeyRecords {
  readonly #bucket: KeyBucket;
  readonly #watch: BucketWatch;
  readonly #records = new Map<string, StoredKey>();
  #onChange: (id: string) => void = () => {};
  #onReady: () => void = () => {};
  #unreadable = 0;

  constructor(bucket: KeyBucket) {
    this.#bucket = bucket;
    this.#watch = bucket.watch({
      onChange: (entry) => this.#take(entry),
      onReset: () => this.#records.clear(),
      onReady: (ready) => {
        if (ready) this.#onReady();
      },
    });
  }

  /** Entries without a valid key record; they are left alone. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** Resolves when all records have been read. */
  whenReady(): Promise<void> {
    return this.#watch.whenReady();
  }

  /** Sets the functions that are called with changes, and after a new read of all records. */
  follow(onChange: (id: string) => void, onReady: () => void): void {
    this.#onChange = onChange;
    this.#onReady = onReady;
  }

  ready(): boolean {
    return this.#watch.ready;
  }

  ids(): Iterable<string> {
    return this.#records.keys();
  }

  /** Ids whose key is accepted. */
  *accepted(): Generator<string> {
    for (const [id, { record }] of this.#records) if (record.state === 'accepted') yield id;
  }

  get(id: string): StoredKey | undefined {
    return this.#records.get(id);
  }

  async put(id: string, record: KeyRecord, expected?: number): Promise<number | undefined> {
    const value = Buffer.from(JSON.stringify(record));
    const revision = await this.#bucket.update(escapeKey(id), value, expected ?? 0);
    if (revision !== undefined) this.#set(id, { record, revision });
    return revision;
  }

  close(): void {
    this.#watch.close();
  }

  #take(entry: BucketEntry): void {
    const record = parseRecord(entry.value);
    const id = unescapeKey(entry.key);
    // An id that may have no key has no file either.
    if (record === undefined || !mayHaveKey(id)) {
      this.#unreadable += 1;
      return;
    }
    // The echo of an own write changes nothing.
    if (this.#set(id, { record, revision: entry.revision })) this.#onChange(id);
  }

  /** The watch lags behind our own writes: an older revision never replaces a newer one. */
  #set(id: string, stored: StoredKey): boolean {
    const known = this.#records.get(id);
    if (known !== undefined && known.revision >= stored.revision) return false;
    this.#records.set(id, stored);
    return true;
  }
}

function parseRecord(value: Uint8Array): KeyRecord | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(value).toString('utf8'));
  } catch {
    return undefined; // Counted by the caller.
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { state, pub, denied, at } = parsed as Record<string, unknown>;
  if (!STATES.has(state) || typeof pub !== 'string') return undefined;
  const texts = Array.isArray(denied) ? denied.filter((one) => typeof one === 'string') : [];
  return {
    state: state as KeyRecord['state'],
    pub,
    ...(texts.length > 0 && { denied: texts }),
    at: typeof at === 'number' ? at : 0,
  };
}
