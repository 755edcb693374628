import { existsSync } from 'node:fs';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, homedir } from 'node:os';
import { join } from 'node:path';
import { minionToken, normalisePem, PrivateKey } from '@brine/crypt';

/** A stored pair; the private half is parsed when it is first needed. */
export interface KeyPair {
  /** PEM as minions send it. */
  readonly pub: string;
  /** The minion's constant `tok` (X9.31), computed with the pair. */
  readonly tok: Buffer;
  readonly privateKey: () => PrivateKey;
}

interface StoredPair {
  readonly private: string;
  readonly public: string;
  readonly tok: string;
}

/** Pairs per size: enough to defeat a master's cache of a few. */
const POOL_SIZES: Readonly<Record<number, number>> = { 2048: 256, 4096: 16 };
const PROGRESS_EVERY = 32;

/** Directory of pools: `${XDG_CACHE_HOME:-~/.cache}/brine/swarm`. */
export function defaultCacheDir(): string {
  const base = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return join(base, 'brine', 'swarm');
}

/**
 * The file with `pairs` pairs of this size, made at the first call (seconds; `tell` gets a line).
 * Throws RangeError for sizes other than 2048 and 4096, and for no pairs.
 */
export async function keyPoolFile(
  pool: { readonly bits: number; readonly pairs?: number | undefined; readonly cacheDir: string },
  report: (line: string) => void,
): Promise<string> {
  const { bits, cacheDir } = pool;
  const count = pool.pairs ?? POOL_SIZES[bits] ?? 0;
  if (POOL_SIZES[bits] === undefined || !Number.isInteger(count) || count < 1) {
    throw new RangeError(`no pool of ${count} RSA pairs with ${bits} bits`);
  }
  const path = join(cacheDir, `rsa-${bits}x${count}.json`);
  if (existsSync(path)) return path;
  await mkdir(cacheDir, { recursive: true, mode: 0o700 });
  report(`making ${count} RSA pairs of ${bits} bits, once, into ${path}`);
  const pairs = await makePairs(bits, count, report);
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, JSON.stringify(pairs), { mode: 0o600 });
  try {
    // The first writer wins: a pool in use must not change.
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}

async function makePairs(
  bits: number,
  count: number,
  report: (line: string) => void,
): Promise<StoredPair[]> {
  const pairs: StoredPair[] = [];
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      const key = await PrivateKey.generate(bits);
      pairs.push({
        private: key.pem,
        public: normalisePem(key.publicKey.pem),
        tok: minionToken(key).toString('base64'),
      });
      if (pairs.length % PROGRESS_EVERY === 0) report(`${pairs.length} of ${count} pairs`);
    }
  };
  // Node's pool has four threads for this work.
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, lane));
  return pairs;
}

/** Reads a pool. */
export async function readKeyPool(path: string): Promise<KeyPair[]> {
  const stored = JSON.parse(await readFile(path, 'utf8')) as StoredPair[];
  return stored.map((pair) => {
    let parsed: PrivateKey | undefined;
    return {
      pub: pair.public,
      tok: Buffer.from(pair.tok, 'base64'),
      privateKey: () => (parsed ??= PrivateKey.parse(pair.private)),
    };
  });
}
