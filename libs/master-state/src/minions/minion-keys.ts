import { type Bucket, type BucketEntry, escapeKey, splitKey } from '@brine/bus';
import { PublicKey } from '@brine/crypt';
import type { KeyState } from '@brine/job';
import { mayHaveKey } from '@brine/job';
import type { MinionKey, MinionKeys, StoredMinionKey } from '@brine/master';
import { LRUCache } from 'lru-cache';
import { fromHotState } from '../hot-state.ts';

/** Number of cached parsed keys. A parsed RSA key takes 3 KB; parsing takes 0.15 ms. */
const PARSED_KEPT_MAX = 20_000;

/** By size, each entry 1: with `max` the cache would allocate all entries at once. */
const PLACES = { maxSize: PARSED_KEPT_MAX, sizeCalculation: () => 1 };

const STATES: ReadonlySet<string> = new Set<KeyState>([
  'accepted',
  'pending',
  'rejected',
  'deleted',
]);

/** Key states from the `brine_keys` bucket, watched as a whole: about 600 bytes per minion. */
export class BucketMinionKeys implements MinionKeys {
  readonly #bucket: Bucket;
  readonly #keys = new Map<string, StoredMinionKey>();
  readonly #byState: Record<KeyState, Set<string>> = {
    accepted: new Set(),
    pending: new Set(),
    rejected: new Set(),
    deleted: new Set(),
  };
  readonly #parsed = new LRUCache<string, { readonly pem: string; readonly key: PublicKey }>(
    PLACES,
  );

  readonly #forget: MinionKeys['forget'];

  constructor(bucket: Bucket, forget: MinionKeys['forget']) {
    this.#bucket = bucket;
    this.#forget = forget;
  }

  forget(id: string, what: { readonly data: boolean }): Promise<void> {
    return fromHotState('minion keys', this.#forget(id, what));
  }

  /** Applies a change of the bucket, from the watch. */
  changed(entry: BucketEntry): void {
    const [id = ''] = splitKey(entry.key);
    // Written by a release that accepted such ids; no tool could see their files.
    if (!mayHaveKey(id)) return;
    const known = this.#keys.get(id);
    if (known !== undefined && known.revision > entry.revision) return;
    this.#remember(id, parseKey(entry.value, entry.revision));
  }

  /** Forgets everything, because the bucket was replaced. */
  reset(): void {
    this.#keys.clear();
    for (const ids of Object.values(this.#byState)) ids.clear();
  }

  cached(id: string): StoredMinionKey | undefined {
    return this.#keys.get(id);
  }

  async fetch(id: string): Promise<StoredMinionKey | undefined> {
    const entry = await fromHotState('minion keys', this.#bucket.get(escapeKey(id)));
    const key = entry === undefined ? undefined : parseKey(entry.value, entry.revision);
    const known = this.#keys.get(id);
    if (key !== undefined && (known === undefined || known.revision <= key.revision)) {
      this.#remember(id, key);
    }
    return key;
  }

  async store(
    id: string,
    next: MinionKey,
    previous: StoredMinionKey | undefined,
  ): Promise<boolean> {
    const at = Date.now();
    const value = Buffer.from(JSON.stringify({ ...plain(next), at }), 'utf8');
    const written = this.#bucket.update(escapeKey(id), value, previous?.revision ?? 0);
    const revision = await fromHotState('minion keys', written);
    if (revision === undefined) return false;
    this.#remember(id, { ...plain(next), revision, at });
    return true;
  }

  parsed(id: string, pem: string): PublicKey {
    const known = this.#parsed.get(id);
    if (known?.pem === pem) return known.key;
    const key = PublicKey.parse(pem);
    this.#parsed.set(id, { pem, key });
    return key;
  }

  accepted(): ReadonlySet<string> {
    return this.#byState.accepted;
  }

  all(): Iterable<readonly [id: string, key: StoredMinionKey]> {
    return this.#keys;
  }

  pendingCount(): number {
    return this.#byState.pending.size;
  }

  /** Numbers of minions by key state, for the status page. */
  counts(): Record<'accepted' | 'pending' | 'rejected' | 'denied', number> {
    let denied = 0;
    for (const key of this.#keys.values()) denied += key.denied.length > 0 ? 1 : 0;
    return {
      accepted: this.#byState.accepted.size,
      pending: this.#byState.pending.size,
      rejected: this.#byState.rejected.size,
      denied,
    };
  }

  #remember(id: string, key: StoredMinionKey | undefined): void {
    const known = this.#keys.get(id);
    if (known !== undefined) this.#byState[known.state].delete(id);
    if (key === undefined) {
      this.#keys.delete(id);
      return;
    }
    this.#keys.set(id, key);
    this.#byState[key.state].add(id);
  }
}

function plain(key: MinionKey): MinionKey {
  return { state: key.state, pub: key.pub, denied: key.denied };
}

/** An unreadable record counts as missing, so it never counts as an accepted key. */
function parseKey(value: Uint8Array, revision: number): StoredMinionKey | undefined {
  let record: unknown;
  try {
    record = JSON.parse(Buffer.from(value).toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof record !== 'object' || record === null) return undefined;
  const { state, pub, denied, at } = record as Record<string, unknown>;
  if (typeof state !== 'string' || !STATES.has(state) || typeof pub !== 'string') return undefined;
  const others = Array.isArray(denied) ? denied.filter((pem) => typeof pem === 'string') : [];
  return {
    state: state as KeyState,
    pub,
    denied: others,
    revision,
    ...(typeof at === 'number' && { at }),
  };
}
