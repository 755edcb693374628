import { deflateSync, inflateSync } from 'node:zlib';
import type { SecretBox } from '@brine/crypt';
import {
  isMap,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpack,
} from '@brine/wire';

/** The owner of a run that has ended. No worker has such an id. */
export const ENDED = '-';

/**
 * The kind of a runner that no other worker can go on with: it is only told that it is gone. Its
 * work does not stop when its worker has no lease.
 */
export const RUNNER = 'runner';

/** What one run may have in the bucket, packed and compressed, in bytes. */
export const RUN_LIMITS = {
  data: 256 * 1024,
  fixed: 1024 * 1024,
  /** All words of a run together. */
  words: 64 * 1024,
  /** A record that comes out of the bucket is never larger than this. */
  inflated: 64 * 1024 * 1024,
} as const;

/** More than {@link RUN_LIMITS} allow: refused, as a cut record could not be gone on with. */
export class RunTooLargeError extends Error {
  override readonly name = 'RunTooLargeError';

  constructor(what: string, bytes: number, limit: number) {
    super(`${what} of a run has ${bytes} bytes when compressed; at most ${limit} can be kept`);
  }
}

/** A run as its record says it. */
export interface RunRecord {
  readonly kind: string;
  /** Id of the worker; empty: any worker may take it; {@link ENDED}: it has ended. */
  readonly owner: string;
  /** What began it, for the worker that goes on. */
  readonly call: SaltMap;
  readonly data: SaltMap;
  /** How often it was taken over since something was saved. */
  readonly takeovers: number;
  /** Kind of the record that is there again when this one ends. */
  readonly replacesKind?: string | undefined;
  /** Name of the key that has what never changes; absent where there is nothing. */
  readonly inputKey?: string | undefined;
}

/** Kind and owner, which stand in the clear; undefined for a removed record. */
export interface RunHead {
  readonly kind: string;
  readonly owner: string;
}

/** Reads and writes records of runs; what they hold is sealed, under the jid of the run. */
export class RunRecords {
  readonly #box: SecretBox;

  constructor(box: SecretBox) {
    this.#box = box;
  }

  /** @throws RunTooLargeError */
  write(jid: string, { kind, owner, ...rest }: RunRecord): Buffer {
    const body = this.#seal('the state', jid, mapOf({ ...rest }), RUN_LIMITS.data);
    return pack([kind, owner, body]);
  }

  /** @throws CryptError for a record that this master's key did not seal */
  read(jid: string, value: Uint8Array): RunRecord | undefined {
    const head = headOf(value);
    if (head === undefined) return undefined;
    const parts = unpack(value);
    const sealed = Array.isArray(parts) ? bytesIn(parts[2]) : undefined;
    if (sealed === undefined) return undefined;
    const body = this.#open(jid, sealed);
    if (!isMap(body)) return undefined;
    return {
      ...head,
      call: mapIn(body, 'by') ?? mapOf({}),
      data: mapIn(body, 'data') ?? mapOf({}),
      takeovers: Number(body.get('moves') ?? 0),
      replacesKind: textOf(body, 'under'),
      inputKey: textOf(body, 'fixedAt'),
    };
  }

  /** @throws RunTooLargeError */
  writeInput(jid: string, fixed: SaltMap): Buffer {
    return this.#seal('the plan', jid, fixed, RUN_LIMITS.fixed);
  }

  readInput(jid: string, value: Uint8Array): SaltMap {
    const fixed = value.length === 0 ? undefined : this.#open(jid, value);
    return isMap(fixed) ? fixed : mapOf({});
  }

  /** @throws RunTooLargeError */
  writeMessages(jid: string, words: readonly SaltMap[]): Buffer {
    return this.#seal('the words', jid, [...words], RUN_LIMITS.words);
  }

  readMessages(jid: string, value: Uint8Array): readonly SaltMap[] {
    const words = value.length === 0 ? [] : this.#open(jid, value);
    return Array.isArray(words) ? words.filter(isMap) : [];
  }

  #seal(what: string, jid: string, value: SaltValue, limit: number): Buffer {
    // The jid goes in: a record copied to another key does not open there.
    const packed = deflateSync(pack([jid, value], 'bin'), { level: 1 });
    if (packed.length > limit) throw new RunTooLargeError(what, packed.length, limit);
    return this.#box.seal(packed);
  }

  #open(jid: string, sealed: Uint8Array): SaltValue {
    const opened = this.#box.open(sealed);
    const parts = unpack(inflateSync(opened, { maxOutputLength: RUN_LIMITS.inflated }));
    if (!Array.isArray(parts) || parts[0] !== jid) throw new Error('the record of another run');
    return parts[1] ?? null;
  }
}

/** Kind and owner of a record; undefined where it was removed. */
export function headOf(value: Uint8Array): RunHead | undefined {
  if (value.length === 0) return undefined;
  const parts = unpack(value);
  const [kind, owner] = Array.isArray(parts) ? parts : [];
  return typeof kind === 'string' && typeof owner === 'string' ? { kind, owner } : undefined;
}

/** Bytes that happen to be UTF-8 are unpacked as text. */
function bytesIn(value: SaltValue | undefined): Uint8Array | undefined {
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  return value instanceof Uint8Array ? value : undefined;
}
