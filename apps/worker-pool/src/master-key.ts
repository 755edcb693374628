import type { PrivateKey, SigAlgo, EncAlgo } from '@brine/crypt';
import type { MasterKey } from '@brine/master';
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { RsaTask, RsaThreadData } from './rsa-thread.ts';

/** Requests waiting for a thread; beyond it log-ins wait at the gateway instead. */
const QUEUE_MAX = 2000;

/** AES key signatures kept: the current key and the one being handed over to. */
const SIGNATURES_KEPT_MAX = 4;

/** The master's private key behind a pool of threads. */
export class ThreadedMasterKey implements MasterKey {
  readonly publicPem: string;
  readonly #pool: Piscina<RsaTask, Uint8Array>;
  readonly #aesSignatures = new Map<string, Promise<Buffer>>();

  constructor(key: PrivateKey) {
    this.publicPem = key.publicKey.pem.trim();
    const workerData: RsaThreadData = { pem: key.pem };
    this.#pool = new Piscina<RsaTask, Uint8Array>({
      filename: fileURLToPath(new URL('./rsa-thread.js', import.meta.url)),
      name: 'runRsaTask',
      workerData,
      minThreads: 1,
      maxThreads: Math.max(1, Math.min(4, availableParallelism())),
      maxQueue: QUEUE_MAX,
      // A short wait keeps a thread hot between the requests of a log-in storm.
      idleTimeout: 5000,
    });
  }

  /** How many operations wait. */
  get queued(): number {
    return this.#pool.queueSize;
  }

  sign(data: Uint8Array, algo: SigAlgo): Promise<Buffer> {
    return this.#run({ op: 'sign', data, algo });
  }

  decrypt(data: Uint8Array, algo: EncAlgo): Promise<Buffer> {
    return this.#run({ op: 'decrypt', data, algo });
  }

  aesKeySignature(keyString: string): Promise<Buffer> {
    const known = this.#aesSignatures.get(keyString);
    if (known !== undefined) return known;
    // Salt signs the hex text of the hash of the key's base64 text (salt/crypt.py).
    const digest = createHash('sha256').update(keyString, 'ascii').digest('hex');
    const made = this.#run({ op: 'x931', data: Buffer.from(digest, 'ascii') });
    this.#aesSignatures.set(keyString, made);
    made.catch(() => this.#aesSignatures.delete(keyString));
    const oldest = this.#aesSignatures.keys().next();
    if (this.#aesSignatures.size > SIGNATURES_KEPT_MAX && oldest.done !== true) {
      this.#aesSignatures.delete(oldest.value);
    }
    return made;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #run(task: RsaTask): Promise<Buffer> {
    const result = await this.#pool.run(task);
    return Buffer.from(result.buffer, result.byteOffset, result.byteLength);
  }
}
