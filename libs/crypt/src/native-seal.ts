import { createRequire } from 'node:module';
import type { Seal } from './seal.ts';
import { BLOCK_BYTES, lengthError, MAC_BYTES, macError, paddedLength, PREFIX } from './seal.ts';

/** Made by native/build.mjs from native/src; the path is the same from src/ and from dist/. */
const FILE = '../native/dist/crypticle.node';

/** INTERFACE of native/src/binding.rs. */
const INTERFACE = 1;

/** An expanded key in native memory, cleared when the handle is collected. */
type KeyHandle = object & { readonly __key: never };

/**
 * The interface of the native part. It takes ranges of larger arrays and makes no object: a call
 * costs 0.1 µs beside its bytes. Throws if a range is outside of its array or too small.
 */
export interface NativePart {
  readonly interface: number;
  newKey(key: Uint8Array): KeyHandle;
  /**
   * Opens `from[start..end]` into `into[at..]`, which needs space for all blocks and may not
   * overlap. Returns the length of the body, which begins at `at + 8`, or one of `FAULT`.
   */
  open(
    key: KeyHandle,
    from: Uint8Array,
    start: number,
    end: number,
    into: Uint8Array,
    at: number,
  ): number;
  /**
   * Seals in place. The IV is at `at`, the body, with a nonce before it, at `at + 24`. Returns the
   * length of the blob, which begins at `at`.
   */
  seal(key: KeyHandle, into: Uint8Array, at: number, length: number): number;
}

/** Results of `open` in place of a length. */
export const FAULT = { MAC: -1, LENGTH: -2, PREFIX: -3 } as const;

let loaded: NativePart | string | undefined;

/** The native part, or a text with the reason why it is missing. Loads it once. */
export function nativePart(): NativePart | string {
  return (loaded ??= load());
}

function load(): NativePart | string {
  try {
    const found = createRequire(import.meta.url)(FILE) as NativePart;
    if (found.interface === INTERFACE) return found;
    return 'the native part was built from another version of the sources';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') {
      return 'the native part is not built';
    }
    const [line] = String(error).split('\n', 1);
    return `the native part can not be loaded: ${line}`;
  }
}

/** The seal in native code: a tenth of the time of Node's. */
export class NativeSeal implements Seal {
  readonly #part: NativePart;
  readonly #key: KeyHandle;

  /** Takes the 56 bytes of a key string. */
  constructor(part: NativePart, key: Buffer) {
    this.#part = part;
    this.#key = part.newKey(key);
  }

  seal(body: Uint8Array, nonce: string, iv: Uint8Array): Buffer {
    const nonceBytes = Buffer.byteLength(nonce, 'utf8');
    const nonceStart = BLOCK_BYTES + PREFIX.length;
    const length = nonceBytes + body.length;
    const blob = Buffer.allocUnsafe(BLOCK_BYTES + paddedLength(PREFIX.length + length) + MAC_BYTES);
    blob.set(iv, 0);
    blob.write(nonce, nonceStart, 'utf8');
    blob.set(body, nonceStart + nonceBytes);
    this.#part.seal(this.#key, blob, 0, length);
    return blob;
  }

  open(blob: Uint8Array): Buffer | undefined {
    const room = blob.length - BLOCK_BYTES - MAC_BYTES;
    if (room < 0) throw macError(blob);
    const into = Buffer.allocUnsafe(room);
    const length = this.#part.open(this.#key, blob, 0, blob.length, into, 0);
    if (length >= 0) return into.subarray(PREFIX.length, PREFIX.length + length);
    if (length === FAULT.PREFIX) return undefined;
    throw length === FAULT.LENGTH ? lengthError(blob) : macError(blob);
  }
}
