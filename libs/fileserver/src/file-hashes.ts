import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { Gate } from '@brine/tasks';
import { LRUCache } from 'lru-cache';

const CHUNK_BYTES = 1_048_576;
/** Files hashed at once, each with a chunk in memory. */
const HASHING_MAX = 4;
/** Hashes remembered: 300 bytes each. */
const HASHES_MAX = 50_000;

/** Counted by entries: with `max` the cache would allocate space for all of them at once. */
const PLACES = { maxSize: HASHES_MAX, sizeCalculation: () => 1 };

/**
 * A file that was changed this shortly before may change again within the same tick of its times;
 * such a hash is not remembered. Two seconds are the coarsest times in use (FAT).
 */
const RACY_MS = 2_000;

interface Known {
  readonly identity: string;
  readonly hash: string;
}

/**
 * Hashes of files, remembered until a file's device, inode, size or times change. A file is read in
 * chunks; concurrent requests for the same file share the answer.
 */
export class FileHashes {
  readonly #algorithm: string;
  readonly #known = new LRUCache<string, Known>(PLACES);
  readonly #flights = new Map<string, Promise<string | undefined>>();
  readonly #gate = new Gate(HASHING_MAX);

  /** @throws Error if OpenSSL does not know the `hash_type` */
  constructor(algorithm: string) {
    createHash(algorithm);
    this.#algorithm = algorithm;
  }

  /** The hash in hex; undefined for a missing file. */
  async of(path: string): Promise<string | undefined> {
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    if (found?.isFile() !== true) return undefined;
    const identity = identityOf(found);
    const known = this.#known.get(path);
    if (known?.identity === identity) return known.hash;
    const flight = `${identity}:${path}`;
    let hashing = this.#flights.get(flight);
    if (hashing === undefined) {
      hashing = this.#gate.run(() => this.#read(path)).finally(() => this.#flights.delete(flight));
      this.#flights.set(flight, hashing);
    }
    return hashing;
  }

  async #read(path: string): Promise<string | undefined> {
    let handle: FileHandle;
    try {
      // Opening a pipe must not block.
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch {
      return undefined;
    }
    try {
      const before = await handle.stat({ bigint: true });
      if (!before.isFile()) return undefined;
      const hash = createHash(this.#algorithm);
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      for (;;) {
        const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES);
        if (bytesRead === 0) break;
        hash.update(chunk.subarray(0, bytesRead));
      }
      const hex = hash.digest('hex');
      const after = await handle.stat({ bigint: true });
      const identity = identityOf(after);
      const changedMs = Number(
        (after.mtimeNs > after.ctimeNs ? after.mtimeNs : after.ctimeNs) / 1_000_000n,
      );
      if (identity === identityOf(before) && Date.now() - changedMs > RACY_MS) {
        this.#known.set(path, { identity, hash: hex });
      }
      return hex;
    } finally {
      await handle.close();
    }
  }
}

/** Changes with each change of a file. */
export function identityOf(stats: {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}
