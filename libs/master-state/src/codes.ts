import { createHash } from 'node:crypto';
import { type Bucket, escapeKey } from '@brine/bus';
import type { SecretBox } from '@brine/crypt';
import type { CodeRecord, MasterPorts } from '@brine/master';
import { fromHotState } from './hot-state.ts';

/** Replaces a code that was taken: a bucket has no delete. */
const GONE = new Uint8Array(0);

/**
 * One-time codes in the bucket `brine_codes`, under their hashes, each with a sealed record. The
 * bucket forgets them after ten minutes. A code that was taken stays as an empty value until then:
 * its hash is not taken again.
 */
export class BucketCodes implements Pick<MasterPorts['codes'], 'keep' | 'take'> {
  readonly #bucket: Pick<Bucket, 'get' | 'create' | 'update'>;
  readonly #box: SecretBox;

  constructor(bucket: Pick<Bucket, 'get' | 'create' | 'update'>, box: SecretBox) {
    this.#bucket = bucket;
    this.#box = box;
  }

  async keep(hash: string, record: CodeRecord): Promise<boolean> {
    const sealed = this.#box.seal(Buffer.from(JSON.stringify(record)));
    const made = await fromHotState('codes', this.#bucket.create(escapeKey(hash), sealed));
    return made !== undefined;
  }

  async take(code: string): Promise<CodeRecord | undefined> {
    const key = escapeKey(createHash('sha256').update(code).digest('hex'));
    const entry = await fromHotState('codes', this.#bucket.get(key));
    if (entry === undefined || entry.value.length === 0) return undefined;
    const taken = await fromHotState('codes', this.#bucket.update(key, GONE, entry.revision));
    // Another worker was first.
    if (taken === undefined) return undefined;
    return JSON.parse(Buffer.from(this.#box.open(entry.value)).toString('utf8')) as CodeRecord;
  }
}
