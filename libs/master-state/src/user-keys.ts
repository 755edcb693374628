import { type Bucket, type BucketEntry, splitKey } from '@brine/bus';
import type { SecretBox } from '@brine/crypt';
import type { UserKeys } from '@brine/master';
import { fromHotState, SingleFlight } from './hot-state.ts';

/** Prefix of records in `brine_secrets` with the user keys of one host. */
const KIND = 'userkeys';

/** Minimum delay between two reads of the source, because strangers may try keys at any rate. */
const REFRESH_PAUSE_MS = 250;

/** Local users' keys of all hosts, from the sealed `brine_secrets` bucket. */
export class BucketUserKeys implements UserKeys {
  readonly #bucket: Bucket;
  readonly #box: SecretBox;
  readonly #hosts = new Map<string, ReadonlyMap<string, string>>();
  readonly #flights = new SingleFlight<void>();
  #refreshedAt = -Infinity;

  constructor(bucket: Bucket, box: SecretBox) {
    this.#bucket = bucket;
    this.#box = box;
  }

  /** Applies a change of the bucket; ignores records of other kinds. */
  changed(entry: BucketEntry): void {
    const [kind, host] = splitKey(entry.key);
    if (kind !== KIND || host === undefined) return;
    this.#hosts.set(host, parseKeys(this.#box.open(entry.value)));
  }

  /** Forgets everything, because the bucket was replaced. */
  reset(): void {
    this.#hosts.clear();
  }

  of(user: string): readonly string[] {
    return [...this.#hosts.values()].flatMap((keys) => keys.get(user) ?? []);
  }

  all(): readonly string[] {
    return [...this.#hosts.values()].flatMap((keys) => [...keys.values()]);
  }

  refresh(): Promise<void> {
    return this.#flights.run('', async () => {
      if (performance.now() - this.#refreshedAt < REFRESH_PAUSE_MS) return;
      const now = performance.now();
      await fromHotState('user keys', this.#readAll());
      this.#refreshedAt = now;
    });
  }

  async #readAll(): Promise<void> {
    for await (const entry of this.#bucket.entries()) this.changed(entry);
  }
}

function parseKeys(text: Uint8Array): ReadonlyMap<string, string> {
  const value: unknown = JSON.parse(Buffer.from(text).toString('utf8'));
  if (typeof value !== 'object' || value === null) return new Map();
  return new Map(
    Object.entries(value).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
    ),
  );
}
