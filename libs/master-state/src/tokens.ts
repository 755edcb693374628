import { createHash } from 'node:crypto';
import { type Bucket, type BucketKey, escapeKey } from '@brine/bus';
import type { SecretBox } from '@brine/crypt';
import type { TokenRecord, Tokens } from '@brine/master';
import { fromJson, toJson } from '@brine/wire/text';
import { fromHotState } from './hot-state.ts';

/** What stands in place of a token that was taken back: a bucket has no delete. */
const GONE = new Uint8Array(0);

/**
 * Tokens in the bucket `brine_tokens`, sealed and under a hash of their names: a copy of the bucket
 * gives no log-in. Each look goes to the source, so a token begins and ceases to count at all
 * workers at once.
 */
export class BucketTokens implements Tokens {
  readonly #bucket: Pick<Bucket, 'get' | 'put'>;
  readonly #box: SecretBox;

  constructor(bucket: Pick<Bucket, 'get' | 'put'>, box: SecretBox) {
    this.#bucket = bucket;
    this.#box = box;
  }

  async keep(token: string, record: TokenRecord): Promise<void> {
    await fromHotState('tokens', this.#bucket.put(keyOf(token), this.#box.seal(write(record))));
  }

  async find(token: string): Promise<TokenRecord | undefined> {
    const entry = await fromHotState('tokens', this.#bucket.get(keyOf(token)));
    if (entry === undefined || entry.value.length === 0) return undefined;
    return read(this.#box.open(entry.value));
  }

  async forget(token: string): Promise<void> {
    await fromHotState('tokens', this.#bucket.put(keyOf(token), GONE));
  }
}

function keyOf(token: string): BucketKey {
  return escapeKey(createHash('sha256').update(token).digest('hex'));
}

function write({ authList, ...record }: TokenRecord): Buffer {
  const acl = authList === undefined ? undefined : toJson(authList).json;
  return Buffer.from(JSON.stringify({ ...record, acl }));
}

function read(bytes: Uint8Array): TokenRecord {
  const { acl, ...record } = JSON.parse(Buffer.from(bytes).toString('utf8')) as TokenRecord & {
    readonly acl?: string;
  };
  return { ...record, ...(acl === undefined ? {} : { authList: fromJson(JSON.parse(acl)) }) };
}
