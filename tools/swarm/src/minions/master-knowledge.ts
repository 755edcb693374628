import { createHash } from 'node:crypto';
import type { PrivateKey } from '@brine/crypt';
import {
  CryptError,
  Crypticle,
  newKeyString,
  normalisePem,
  PublicKey,
  SerialMemory,
} from '@brine/crypt';
import { DEFAULT_ENC_ALGO, DEFAULT_SIG_ALGO } from '@brine/wire/frames';
import type { AuthAccept } from '@brine/wire/load';

/** A secret that only the master can read, and the expected reply. */
export interface LogInToken {
  readonly text: string;
  readonly sealed: Buffer;
}

/** Number of tokens, encrypted once and used in turn: the master has to open each one anyway. */
const TOKENS = 32;

/** Data of a process' minions about their master, shared by all. */
export class MasterKnowledge {
  #key: PublicKey | undefined;
  #pem = '';
  #aes: Crypticle | undefined;
  #aesMark: Buffer | undefined;
  #epoch = 0;
  #publishPort: number | undefined;
  #tokens: LogInToken[] = [];
  #nextToken = 0;
  /** Publications of the current AES key. */
  serials = new SerialMemory();

  constructor(publishPort: number | undefined) {
    this.#publishPort = publishPort;
  }

  get key(): PublicKey | undefined {
    return this.#key;
  }

  /** The master's key for publications. */
  get aes(): Crypticle | undefined {
    return this.#aes;
  }

  /** Incremented with each new AES key. */
  get epoch(): number {
    return this.#epoch;
  }

  get publishPort(): number | undefined {
    return this.#publishPort;
  }

  /** A token for the next log-in; undefined before the first one, as for a new minion. */
  token(): LogInToken | undefined {
    this.#nextToken += 1;
    return this.#tokens[this.#nextToken % TOKENS];
  }

  /** True if the reply has a known AES key: its signature is always the same. */
  knowsAes(mark: Uint8Array): boolean {
    return this.#aesMark?.equals(mark) ?? false;
  }

  /** The key of a reply; throws Error for another than the first one. */
  masterKey(accept: AuthAccept): PublicKey {
    const pem = normalisePem(accept.pubKey);
    if (this.#key === undefined) {
      const key = PublicKey.parse(pem);
      this.#key = key;
      this.#pem = pem;
      this.#tokens = Array.from({ length: TOKENS }, () => {
        const text = newKeyString();
        return { text, sealed: key.oaepEncrypt(Buffer.from(text), DEFAULT_ENC_ALGO) };
      });
    } else if (pem !== this.#pem)
      throw new CryptError('SALT_CRYPT_KEY', 'the master has another key');
    this.#publishPort ??= accept.publishPort;
    return this.#key;
  }

  /** Opens the AES key of a reply, and stores a new one. Throws Error, CryptError. */
  openAes(accept: AuthAccept, mine: PrivateKey): void {
    const key = this.masterKey(accept);
    const text = mine.oaepDecrypt(accept.aes, DEFAULT_ENC_ALGO).toString('utf8');
    const digest = createHash('sha256').update(text).digest('hex');
    if (key.x931Recover(accept.sig)?.toString('latin1') !== digest) {
      throw new CryptError('SALT_CRYPT_KEY', 'the key for publications is not vouched for');
    }
    if (this.#aes?.keyString === text) return;
    this.#aes = new Crypticle(text);
    this.#aesMark = Buffer.from(accept.sig);
    this.#epoch += 1;
    this.serials = new SerialMemory();
  }

  /** Verifies the master's signature around a reply. */
  verify(load: Uint8Array, sig: Uint8Array): boolean {
    return this.#key?.verify(load, sig, DEFAULT_SIG_ALGO) ?? false;
  }
}
