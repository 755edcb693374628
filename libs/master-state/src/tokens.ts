import { createHash } from 'node:crypto';
import { type Bucket, type BucketKey, escapeKey } from '@brine/bus';
import type { SecretBox } from '@brine/crypt';
import type { TokenRecord, Tokens } from '@brine/master';
import { fromJson, toJson } from '@brine/wire/text';
import { fromHotState } from './hot-state.ts';

/** Replaces a revoked token: a bucket has no delete. */
const GONE = new Uint8Array(0);

/**
 * Tokens in the bucket `brine_tokens`, sealed and under a hash of their names: a copy of the bucket
 * gives no log-in. Each read goes to the source, so that a new or revoked token takes effect at all
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
    await fromHotState(
      'tokens',
      this.#bucket.put(keyOfToken(token), sealToken(this.#box, token, record)),
    );
  }

  async find(token: string): Promise<TokenRecord | undefined> {
    const entry = await fromHotState('tokens', this.#bucket.get(keyOfToken(token)));
    if (entry === undefined || entry.value.length === 0) return undefined;
    return openToken(this.#box, entry.value).record;
  }

  async forget(token: string): Promise<void> {
    await fromHotState('tokens', this.#bucket.put(keyOfToken(token), GONE));
  }
}

/**
 * Removes expired tokens: NATS deletes them only after a year, and the bucket is bounded. An
 * unreadable token stays. Returns their number.
 * @throws BusError if NATS is unreachable
 */
export async function sweepTokens(
  bucket: Pick<Bucket, 'entries' | 'update'>,
  box: SecretBox,
  nowSeconds: number,
  signal: AbortSignal,
): Promise<number> {
  let swept = 0;
  for await (const { key, value, revision } of bucket.entries()) {
    if (signal.aborted) return swept;
    if (value.length === 0 || !hasExpired(box, value, nowSeconds)) continue;
    // Undefined: it was revoked, or renewed, meanwhile.
    if ((await bucket.update(key, GONE, revision)) !== undefined) swept += 1;
  }
  return swept;
}

function hasExpired(box: SecretBox, value: Uint8Array, nowSeconds: number): boolean {
  try {
    return openToken(box, value).record.expire < nowSeconds;
  } catch {
    return false; // Sealed with another master's key, or by a later release.
  }
}

/** The key of a token: a hash. */
export function keyOfToken(token: string): BucketKey {
  return escapeKey(createHash('sha256').update(token).digest('hex'));
}

/** The record of a token, with the token itself: a stock master stores tokens by their names. */
export function sealToken(
  box: SecretBox,
  token: string,
  { authList, ...record }: TokenRecord,
): Uint8Array {
  const acl = authList === undefined ? undefined : toJson(authList).json;
  return box.seal(Buffer.from(JSON.stringify({ ...record, acl, token })));
}

/** Reads {@link sealToken}. `token` is undefined in records of earlier releases. */
export function openToken(
  box: SecretBox,
  sealed: Uint8Array,
): { readonly token: string | undefined; readonly record: TokenRecord } {
  const text = Buffer.from(box.open(sealed)).toString('utf8');
  const { acl, token, ...record } = JSON.parse(text) as TokenRecord & {
    readonly acl?: string;
    readonly token?: string;
  };
  const authList = acl === undefined ? {} : { authList: fromJson(JSON.parse(acl)) };
  return { token, record: { ...record, ...authList } };
}
