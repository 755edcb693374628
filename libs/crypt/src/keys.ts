import type { KeyObject, webcrypto } from 'node:crypto';
import {
  constants,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  privateDecrypt,
  publicEncrypt,
  sign,
  subtle,
  verify,
} from 'node:crypto';
import { promisify } from 'node:util';
import { CryptError } from './errors.ts';
import { usualRsaKey } from './spki.ts';
import { x931Encrypt, x931Recover } from './x931.ts';

/** The padding for sealing keys to a peer; MGF1 takes the same hash. */
export type EncAlgo = 'OAEP-SHA1' | 'OAEP-SHA224';
/** The scheme of signatures. */
export type SigAlgo = 'PKCS1v15-SHA1' | 'PKCS1v15-SHA224';

const OAEP_HASHES: Readonly<Record<EncAlgo, string>> = {
  'OAEP-SHA1': 'sha1',
  'OAEP-SHA224': 'sha224',
};
const SIGN_HASHES: Readonly<Record<SigAlgo, string>> = {
  'PKCS1v15-SHA1': 'RSA-SHA1',
  'PKCS1v15-SHA224': 'RSA-SHA224',
};

/** True for the two names that Salt knows (Salt: salt/crypt.py VALID_ENCRYPTION_ALGORITHMS). */
export function isEncAlgo(name: string): name is EncAlgo {
  return Object.hasOwn(OAEP_HASHES, name);
}

/** True for the two names that Salt knows (Salt: salt/crypt.py VALID_SIGNING_ALGORITHMS). */
export function isSigAlgo(name: string): name is SigAlgo {
  return Object.hasOwn(SIGN_HASHES, name);
}

/** Web Crypto does one operation of a handle at a time; Node's pool has four threads. */
const HANDLES = 4;
/** A key of 16384 bits takes some 12 KiB of PEM. */
const MAX_PEM_CHARACTERS = 16_384;
const MIN_BITS = 1024;
const MAX_BITS = 16_384;
/** OpenSSL's own limit for long moduli; a larger exponent only makes each check slow. */
const MAX_EXPONENT = 2n ** 64n - 1n;
const PUBLIC_HEADS = ['-----BEGIN PUBLIC KEY-----', '-----BEGIN RSA PUBLIC KEY-----'];
const EXPONENT = 65_537;

/** The modulus as bytes, in the length of the key. */
function modulusOf(key: KeyObject): Buffer {
  const { n } = key.export({ format: 'jwk' });
  return Buffer.from(n ?? '', 'base64url');
}

/** Throws if Salt's schemes can not be computed with the key. */
function checkRsa(key: KeyObject): { readonly bits: number; readonly modulus: Buffer } {
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== 'rsa') throw new CryptError('SALT_CRYPT_KEY', 'not an RSA key');
  if (bits < MIN_BITS || bits > MAX_BITS || bits % 8 !== 0) {
    throw new CryptError('SALT_CRYPT_KEY', `RSA key has ${bits} bits`);
  }
  if (exponent < 3n || exponent > MAX_EXPONENT || exponent % 2n === 0n) {
    throw new CryptError('SALT_CRYPT_KEY', 'RSA key has an unusable exponent');
  }
  const modulus = modulusOf(key);
  // OpenSSL throws on even moduli; leading zeros would shift every block.
  if (modulus.length * 8 !== bits || ((modulus[modulus.length - 1] ?? 0) & 1) === 0) {
    throw new CryptError('SALT_CRYPT_KEY', 'RSA key has an unusable modulus');
  }
  return { bits, modulus };
}

/** The public half of an RSA key, parsed once. */
export class PublicKey {
  readonly bits: number;
  readonly #key: KeyObject;
  readonly #modulus: Buffer;
  #pem: string | undefined;

  private constructor(key: KeyObject) {
    const { bits, modulus } = checkRsa(key);
    this.bits = bits;
    this.#key = key;
    this.#modulus = modulus;
  }

  /** SubjectPublicKeyInfo PEM with a line feed at its end, as in `master.pub`. */
  get pem(): string {
    this.#pem ??= this.#key.export({ type: 'spki', format: 'pem' }).toString();
    return this.#pem;
  }

  /**
   * Reads PEM text, `PUBLIC KEY` or `RSA PUBLIC KEY`. Throws CryptError SALT_CRYPT_KEY for anything
   * else: private keys and certificates, other kinds, sizes outside 1024 to 16384 bits.
   */
  static parse(pemText: string): PublicKey {
    const text = pemText.trim();
    if (text.length > MAX_PEM_CHARACTERS || !PUBLIC_HEADS.some((head) => text.startsWith(head))) {
      throw new CryptError('SALT_CRYPT_KEY', 'not a public key in PEM');
    }
    const usual = usualRsaKey(text);
    return new PublicKey(
      parseKey(() =>
        createPublicKey(
          usual === undefined
            ? text
            : { key: usual, format: 'der' as const, type: 'pkcs1' as const },
        ),
      ),
    );
  }

  /** The public half of a parsed private key. */
  static of(privateKey: KeyObject): PublicKey {
    return new PublicKey(createPublicKey(privateKey));
  }

  /** Seals a few bytes to the owner; throws CryptError SALT_CRYPT_LENGTH for too many. */
  oaepEncrypt(data: Uint8Array, algo: EncAlgo): Buffer {
    try {
      return publicEncrypt(
        {
          key: this.#key,
          padding: constants.RSA_PKCS1_OAEP_PADDING,
          oaepHash: OAEP_HASHES[algo],
        },
        data,
      );
    } catch (cause) {
      throw new CryptError('SALT_CRYPT_LENGTH', 'data cannot be sealed to this key', { cause });
    }
  }

  /** True if `sig` is the owner's signature of `data`; false in every other case. */
  verify(data: Uint8Array, sig: Uint8Array, algo: SigAlgo): boolean {
    if (sig.length !== this.#modulus.length) return false;
    return verify(SIGN_HASHES[algo], data, this.#key, sig);
  }

  /** The message of an X9.31 block of the owner, or undefined. */
  x931Recover(sig: Uint8Array): Buffer | undefined {
    return x931Recover(this.#key, this.#modulus, sig);
  }
}

/** An RSA key pair, parsed once. */
export class PrivateKey {
  /** PKCS#1 PEM with a line feed at its end, as in `master.pem`. */
  readonly pem: string;
  readonly publicKey: PublicKey;
  readonly #key: KeyObject;
  readonly #modulus: Buffer;
  #handles: Promise<readonly webcrypto.CryptoKey[]> | undefined;
  #nextHandle = 0;

  private constructor(key: KeyObject) {
    this.#key = key;
    this.#modulus = checkRsa(key).modulus;
    this.publicKey = PublicKey.of(key);
    this.pem = key.export({ type: 'pkcs1', format: 'pem' }).toString();
  }

  /**
   * Reads PEM text, PKCS#1 or PKCS#8, with `passphrase` if it is encrypted (`key_pass`). Throws
   * CryptError SALT_CRYPT_KEY.
   */
  static parse(pemText: string, passphrase?: string): PrivateKey {
    if (pemText.length > 2 * MAX_PEM_CHARACTERS) {
      throw new CryptError('SALT_CRYPT_KEY', 'not a private key in PEM');
    }
    const input = { key: pemText.trim(), format: 'pem' as const };
    const options = passphrase === undefined ? input : { ...input, passphrase };
    return new PrivateKey(parseKey(() => createPrivateKey(options)));
  }

  /** Makes a new key with exponent 65537; throws CryptError SALT_CRYPT_KEY for unusable sizes. */
  static async generate(bits: number): Promise<PrivateKey> {
    if (!Number.isInteger(bits) || bits < MIN_BITS || bits > MAX_BITS || bits % 8 !== 0) {
      throw new CryptError('SALT_CRYPT_KEY', `RSA keys of ${bits} bits are not made`);
    }
    const pair = await promisify(generateKeyPair)('rsa', {
      modulusLength: bits,
      publicExponent: EXPONENT,
    });
    return new PrivateKey(pair.privateKey);
  }

  /** The key as `pem`, encrypted as Salt encrypts a new key for which `key_pass` is set. */
  encryptedPem(passphrase: string): string {
    const how = { type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase } as const;
    return this.#key.export(how).toString();
  }

  /** Bits of the modulus. */
  get bits(): number {
    return this.#modulus.length * 8;
  }

  /** Opens bytes that were sealed to this key; throws CryptError SALT_CRYPT_PADDING for others. */
  oaepDecrypt(data: Uint8Array, algo: EncAlgo): Buffer {
    try {
      return privateDecrypt(
        {
          key: this.#key,
          padding: constants.RSA_PKCS1_OAEP_PADDING,
          oaepHash: OAEP_HASHES[algo],
        },
        data,
      );
    } catch (cause) {
      throw new CryptError('SALT_CRYPT_PADDING', 'not sealed to this key', { cause });
    }
  }

  /**
   * As {@link oaepDecrypt}, in Node's thread pool, off the event loop. For OAEP-SHA1 only: Web
   * Crypto has no SHA-224, and offers the only way to those threads.
   */
  async oaepDecryptAsync(data: Uint8Array): Promise<Buffer> {
    this.#handles ??= Promise.all(Array.from({ length: HANDLES }, () => this.#importHandle()));
    const handles = await this.#handles;
    const handle = handles[this.#nextHandle++ % HANDLES];
    if (handle === undefined) throw new RangeError('no handle of the key');
    try {
      return Buffer.from(await subtle.decrypt({ name: 'RSA-OAEP' }, handle, data));
    } catch (cause) {
      throw new CryptError('SALT_CRYPT_PADDING', 'not sealed to this key', { cause });
    }
  }

  #importHandle(): Promise<webcrypto.CryptoKey> {
    const der = this.#key.export({ type: 'pkcs8', format: 'der' });
    const algorithm = { name: 'RSA-OAEP', hash: 'SHA-1' };
    return subtle.importKey('pkcs8', der, algorithm, false, ['decrypt']);
  }

  /** The signature of `data`. */
  sign(data: Uint8Array, algo: SigAlgo): Buffer {
    return sign(SIGN_HASHES[algo], data, this.#key);
  }

  /** As {@link sign}, in Node's thread pool, off the event loop. */
  signAsync(data: Uint8Array, algo: SigAlgo): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      sign(SIGN_HASHES[algo], data, this.#key, (error, signature) => {
        if (error === null) resolve(signature);
        else reject(error);
      });
    });
  }

  /** The X9.31 block of a short message; throws CryptError SALT_CRYPT_LENGTH if it is too long. */
  x931Encrypt(message: Uint8Array): Buffer {
    return x931Encrypt(this.#key, this.#modulus, message);
  }

  /** The key in DER (PKCS#1): the same bytes for every form of the PEM. */
  der(): Buffer {
    return this.#key.export({ type: 'pkcs1', format: 'der' });
  }
}

function parseKey(parse: () => KeyObject): KeyObject {
  try {
    return parse();
  } catch (cause) {
    throw new CryptError('SALT_CRYPT_KEY', 'key cannot be read', { cause });
  }
}
