import { type Bucket, type BucketEntry, escapeKey } from '@brine/bus';
import type { SecretBox } from '@brine/crypt';
import type { Begun, Once } from '@brine/master';
import { pack, type SaltValue, unpack } from '@brine/wire';
import { fromHotState } from '../hot-state.ts';

/**
 * After this time the worker that began has ended or died. The longest work is a runner that a
 * minion waits for, 20 s. A gateway gives the requests of a dead worker to another one within
 * seconds.
 */
const TAKE_OVER_MS = 30_000;
/** A gateway delivers a request again for two minutes, a minion sends one again for a minute. */
const AWAITED_MS = 300_000;
/** Longer replies are not stored: a repetition gets an empty one. */
const REPLY_MAX_BYTES = 4_096;

/** Marks a request whose reply is not needed again. */
const NO_REPLY = new Uint8Array();

/** The record of a request. The reply may be a secret, and is sealed. */
interface Note {
  readonly by: string;
  readonly sealed: Uint8Array | undefined;
}

/** Requests that wrote something, in the bucket `brine_once`. */
export class BucketOnce implements Once {
  readonly #bucket: Pick<Bucket, 'create' | 'get' | 'put' | 'update'>;
  readonly #box: SecretBox;
  readonly #now: () => number;

  /** @param now unix milliseconds */
  constructor(
    bucket: Pick<Bucket, 'create' | 'get' | 'put' | 'update'>,
    box: SecretBox,
    now: () => number = Date.now,
  ) {
    this.#bucket = bucket;
    this.#box = box;
    this.#now = now;
  }

  async begin(key: string, by: string): Promise<Begun> {
    const value = pack([by]);
    const created = this.#bucket.create(escapeKey(key), value);
    if ((await fromHotState(WHAT, created)) !== undefined) return { kind: 'begun' };
    const first = await fromHotState(WHAT, this.#bucket.get(escapeKey(key)));
    // The record has just expired; the next delivery creates it again.
    if (first === undefined) return { kind: 'under-way' };
    const note = read(first);
    if (note.sealed !== undefined) return { kind: 'done', reply: this.#replyIn(note.sealed) };
    if (note.by === by) return { kind: 'begun' };
    const age = this.#now() - first.timeMs;
    if (age > AWAITED_MS) return { kind: 'lapsed' };
    if (age <= TAKE_OVER_MS) return { kind: 'under-way' };
    const taken = this.#bucket.update(escapeKey(key), value, first.revision);
    const isOurs = (await fromHotState(WHAT, taken)) !== undefined;
    return { kind: isOurs ? 'begun' : 'under-way' };
  }

  async note(key: string, by: string): Promise<number> {
    // No work is running that would end this record: another command with this nonce need not wait.
    const value = pack([by, NO_REPLY]);
    const created = this.#bucket.create(escapeKey(key), value);
    if ((await fromHotState(WHAT, created)) !== undefined) return 0;
    const first = await fromHotState(WHAT, this.#bucket.get(escapeKey(key)));
    if (first === undefined) return 0;
    const known = read(first);
    if (known.sealed !== undefined) return known.by === by ? 0 : this.#now() - first.timeMs;
    // The request was not written. If another delivery is faster, the stream still detects it.
    await fromHotState(WHAT, this.#bucket.update(escapeKey(key), value, first.revision));
    return 0;
  }

  async unnote(key: string, by: string): Promise<void> {
    await fromHotState(WHAT, this.#bucket.put(escapeKey(key), pack([by])));
  }

  async done(key: string, by: string, reply: SaltValue): Promise<void> {
    const packed = pack(reply);
    const kept = packed.length <= REPLY_MAX_BYTES ? packed : pack('');
    const value = pack([by, this.#box.seal(kept)]);
    await fromHotState(WHAT, this.#bucket.put(escapeKey(key), value));
  }

  #replyIn(sealed: Uint8Array): SaltValue {
    return sealed.length === NO_REPLY.length ? '' : unpack(this.#box.open(sealed));
  }
}

const WHAT = 'what minions had written';

function read({ value }: BucketEntry): Note {
  const note = unpack(value);
  const [by, sealed] = Array.isArray(note) ? note : [];
  return {
    by: typeof by === 'string' ? by : '',
    sealed: typeof sealed === 'string' ? Buffer.from(sealed) : bytesIn(sealed),
  };
}

function bytesIn(value: SaltValue | undefined): Uint8Array | undefined {
  return value instanceof Uint8Array ? value : undefined;
}
