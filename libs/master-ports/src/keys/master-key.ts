import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { EncAlgo, PrivateKey, SigAlgo } from '@brine/crypt';
import type { MasterKey } from '@brine/master';
import type { MasterKeys } from '@brine/pki';
import { LRUCache } from 'lru-cache';
import { Piscina } from 'piscina';
import type { RsaTask, RsaThreadData } from './rsa-thread.ts';

/** Limit of requests that wait for a thread; beyond it log-ins wait at the gateway. */
const QUEUE_MAX = 2000;

/** Number of cached AES key signatures: the current key and its successor. */
const SIGNATURES_KEPT_MAX = 4;

/** The master's private key in a worker, with its backlog and a `close`. */
export interface MasterKeyService extends MasterKey {
  /** Number of waiting operations. */
  readonly queued: number;
  close(): Promise<void>;
}

/**
 * Uses the master's private key in other threads, because one RSA-4096 operation takes 5 ms. Node's
 * own pool does all but OAEP-SHA224, which a few minions use; that has threads of our own.
 */
export class ThreadedMasterKey implements MasterKeyService {
  readonly publicPem: string;
  readonly #key: PrivateKey;
  #pool: Piscina<RsaTask, Uint8Array> | undefined;
  readonly #aesSignatures = new LRUCache<string, Promise<Buffer>>({ max: SIGNATURES_KEPT_MAX });

  /** Present if `master_sign_pubkey` is set: a minion that does not expect it stays out. */
  readonly publicKeySignature?: (algo: SigAlgo) => Promise<string>;

  constructor(keys: Pick<MasterKeys, 'privateKey' | 'sign' | 'precomputedSignature'>) {
    this.#key = keys.privateKey;
    this.publicPem = this.#key.publicKey.pem.trim();
    const signature = signatureOf(this.publicPem, keys);
    if (signature !== undefined) this.publicKeySignature = signature;
  }

  /** Number of waiting operations. */
  get queued(): number {
    return this.#pool?.queueSize ?? 0;
  }

  sign(data: Uint8Array, algo: SigAlgo): Promise<Buffer> {
    // Node's own threads save a tenth of the time of a signature.
    return this.#key.signAsync(data, algo);
  }

  decrypt(data: Uint8Array, algo: EncAlgo): Promise<Buffer> {
    if (algo === 'OAEP-SHA1') return this.#key.oaepDecryptAsync(data);
    return this.#inPool(data, algo);
  }

  aesKeySignature(keyString: string): Promise<Buffer> {
    const known = this.#aesSignatures.get(keyString);
    if (known !== undefined) return known;
    // Salt signs the hex text of the hash of the key's base64 text (salt/crypt.py).
    const digest = createHash('sha256').update(keyString, 'ascii').digest('hex');
    // Needed once per AES key, so it needs no thread.
    const made = Promise.resolve(this.#key.x931Encrypt(Buffer.from(digest, 'ascii')));
    this.#aesSignatures.set(keyString, made);
    made.catch(() => this.#aesSignatures.delete(keyString));
    return made;
  }

  async close(): Promise<void> {
    await this.#pool?.destroy();
  }

  async #inPool(data: Uint8Array, algo: EncAlgo): Promise<Buffer> {
    const workerData: RsaThreadData = { pem: this.#key.pem };
    this.#pool ??= new Piscina<RsaTask, Uint8Array>({
      filename: fileURLToPath(new URL('./rsa-thread.js', import.meta.url)),
      name: 'runRsaTask',
      workerData,
      minThreads: 1,
      maxThreads: Math.max(1, Math.min(4, availableParallelism())),
      maxQueue: QUEUE_MAX,
      // Keeps a thread alive between the requests of a log-in storm.
      idleTimeout: 5000,
    });
    const result = await this.#pool.run({ data, algo });
    return Buffer.from(result.buffer, result.byteOffset, result.byteLength);
  }
}

/**
 * Signs the text of `master.pub` that is sent along (Salt: salt/channel/server.py `_auth`,
 * `pub_sig`). Caches one signature per algorithm, or uses the precomputed one.
 */
function signatureOf(
  publicPem: string,
  { sign, precomputedSignature }: Pick<MasterKeys, 'sign' | 'precomputedSignature'>,
): ((algo: SigAlgo) => Promise<string>) | undefined {
  if (precomputedSignature !== undefined) return () => Promise.resolve(precomputedSignature);
  if (sign === undefined) return undefined;
  const made = new Map<SigAlgo, Promise<string>>();
  return (algo) => {
    const known = made.get(algo);
    if (known !== undefined) return known;
    const signed = sign.privateKey
      .signAsync(Buffer.from(publicPem), algo)
      // Python's b2a_base64 ends its text with a line feed.
      .then((bytes) => `${bytes.toString('base64')}\n`);
    made.set(algo, signed);
    signed.catch(() => made.delete(algo));
    return signed;
  };
}
