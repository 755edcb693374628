import { deflateSync, inflateSync } from 'node:zlib';
import { type BucketKey, escapeKey } from '@brine/bus';
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

/** The owner of a run that has ended. No process has this id. */
export const ENDED = '-';

/**
 * A call of a runner or wheel that is running. No other process can resume it; it can only report
 * that the call failed. The function does not stop when its process has no lease.
 */
export const RUNNER = 'runner';

/**
 * A call that is handed over and not started; {@link RUNNER} once a process takes it. The kinds
 * differ because releases before 0.3 report a runner without an owner as failed.
 */
export const CALL = 'call';

/** The name of the bucket in errors when it is unreachable. */
export const RUNS = 'the record of runs';

/** Limits of one run in the bucket, packed and compressed, in bytes. */
export const RUN_LIMITS = {
  data: 256 * 1024,
  /** A NATS message may have 8 MiB. */
  input: 4 * 1024 * 1024,
  /** All messages of a run together. */
  messages: 64 * 1024,
  /** Upper limit of an inflated record. */
  inflated: 64 * 1024 * 1024,
} as const;

/** A record larger than {@link RUN_LIMITS}: refused, since a cut record could not be resumed. */
export class RunTooLargeError extends Error {
  override readonly name = 'RunTooLargeError';

  constructor(what: string, bytes: number, limit: number) {
    super(`${what} of a run has ${bytes} bytes when compressed; at most ${limit} can be kept`);
  }
}

/** A run as its record stores it. */
export interface RunRecord {
  readonly kind: string;
  /** Id of the process. Empty: any process may take it. {@link ENDED}: the run has ended. */
  readonly owner: string;
  /** The call that began the run, for the process that resumes it. */
  readonly call: SaltMap;
  readonly data: SaltMap;
  /** Number of takeovers since the last save. */
  readonly takeovers: number;
  /** Kind of the record that this one replaces until it ends. */
  readonly replacesKind?: string | undefined;
  /** Key of the data that never changes; absent if there is no such data. */
  readonly inputKey?: string | undefined;
}

/** Kind and owner of a run: the part of its record that is not sealed. */
export interface RunHead {
  readonly kind: string;
  readonly owner: string;
}

/** Seals the contents of records: a `SecretBox`, or {@link NOT_SEALED}. */
export interface RecordBox {
  seal(bytes: Uint8Array): Buffer;
  open(sealed: Uint8Array): Buffer;
}

/** For the bucket of a service without the master's key: nothing is sealed. */
export const NOT_SEALED: RecordBox = {
  seal: (bytes) => Buffer.from(bytes),
  open: (bytes) => Buffer.from(bytes),
};

/** Reads and writes records of runs. Their contents are sealed, under the jid of the run. */
export class RunRecords {
  readonly #box: RecordBox;

  constructor(box: RecordBox) {
    this.#box = box;
  }

  /** @throws RunTooLargeError */
  write(jid: string, record: RunRecord): Buffer {
    const { kind, owner, call, data, takeovers, replacesKind, inputKey } = record;
    // Names that processes of earlier releases read.
    const body = mapOf({
      by: call,
      data,
      moves: takeovers,
      under: replacesKind,
      fixedAt: inputKey,
    });
    return pack([kind, owner, this.#seal('the state', jid, body, RUN_LIMITS.data)]);
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
  writeInput(jid: string, input: SaltMap): Buffer {
    return this.#seal('the input', jid, input, RUN_LIMITS.input);
  }

  readInput(jid: string, value: Uint8Array): SaltMap {
    const input = value.length === 0 ? undefined : this.#open(jid, value);
    return isMap(input) ? input : mapOf({});
  }

  /** @throws RunTooLargeError */
  writeMessages(jid: string, messages: readonly SaltMap[]): Buffer {
    return this.#seal('the messages', jid, [...messages], RUN_LIMITS.messages);
  }

  readMessages(jid: string, value: Uint8Array): readonly SaltMap[] {
    const messages = value.length === 0 ? [] : this.#open(jid, value);
    return Array.isArray(messages) ? messages.filter(isMap) : [];
  }

  #seal(what: string, jid: string, value: SaltValue, limit: number): Buffer {
    // The jid is sealed too, so a record that was copied to another key does not open there.
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

/** Key of a record. Earlier releases use the same prefixes: `run`, `fixed`, `words` and `beat`. */
export function runKey(jid: string): BucketKey {
  return escapeKey('run', jid);
}

export function inputKeyOf(jid: string, name: string): BucketKey {
  return escapeKey('fixed', jid, name);
}

export function messagesKey(jid: string): BucketKey {
  return escapeKey('words', jid);
}

export function beatKey(processId: string): BucketKey {
  return escapeKey('beat', processId);
}

/** The unpacker returns bytes that happen to be UTF-8 as text. */
function bytesIn(value: SaltValue | undefined): Uint8Array | undefined {
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  return value instanceof Uint8Array ? value : undefined;
}
