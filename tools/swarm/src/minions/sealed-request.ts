import { randomBytes, randomFillSync } from 'node:crypto';
import type { Crypticle } from '@brine/crypt';
import type { SaltMap, SaltValue } from '@brine/wire';
import { mapOf, pack } from '@brine/wire';
import { aesEnvelope, DEFAULT_ENC_ALGO, DEFAULT_SIG_ALGO } from '@brine/wire/frames';

const NONCE_DIGITS = 32;
const IV_BYTES = 16;
const IV_POOL_BYTES = 16_384;
/** Maximum of cached envelope heads, which differ only by the length of the seal. */
const MAX_HEADS = 1_024;

/** The fields of a load that are the same for all minions, packed. */
export interface LoadHead {
  readonly bytes: Buffer;
}

/** The fields of one minion, packed: for the load and for the envelope around it. */
export interface MinionFields {
  readonly inLoad: Buffer;
  readonly inEnvelope: Buffer;
}

/**
 * Makes sealed requests of many minions. Constant parts are packed once, so that a request costs
 * only the seal. A nonce is unique, not secret: a counter is enough.
 */
export class SealedRequests {
  readonly #version: 2 | 3;
  readonly #noncePrefix = randomBytes(NONCE_DIGITS / 4).toString('hex');
  readonly #tail: Buffer;
  readonly #tsAt: number;
  readonly #heads = new Map<number, Buffer>();
  readonly #ivs = Buffer.alloc(IV_POOL_BYTES);
  #ivAt = IV_POOL_BYTES;
  #counter = 0;

  constructor(version: 2 | 3) {
    this.#version = version;
    const fields = tailFields(version);
    // The header of a small map is one byte.
    this.#tail = pack(mapOf(fields)).subarray(1);
    this.#tail.write(this.#noncePrefix, this.#tail.length - NONCE_DIGITS, 'latin1');
    this.#tsAt = version === 3 ? pack('ts').length + 1 : -1;
  }

  /** Packs the common part of a load (`cmd`, `jid`, …; without id, tok, ts, nonce). */
  head(load: SaltMap): LoadHead {
    const rest = { ...ownFields(this.#version, '', Buffer.alloc(0)), ...tailFields(this.#version) };
    const full = pack(new Map<SaltValue, SaltValue>([...load, ...mapOf(rest)]));
    const own = pack(mapOf(rest)).length - 1;
    return { bytes: full.subarray(0, full.length - own) };
  }

  /** Packs the fields of a minion. */
  fields(id: string, tok: Buffer): MinionFields {
    return {
      inLoad: pack(mapOf(ownFields(this.#version, id, tok))).subarray(1),
      inEnvelope: pack(mapOf(envelopeFields(this.#version, id))).subarray(1),
    };
  }

  /** The nonce of the request that was sealed last. */
  get lastNonce(): number {
    return this.#counter;
  }

  /** The text of a nonce. */
  nonceText(nonce: number): string {
    return this.#noncePrefix + nonce.toString(16).padStart(NONCE_DIGITS / 2, '0');
  }

  /** The body of a request, in parts. */
  seal(head: LoadHead, fields: MinionFields, key: Crypticle): Uint8Array[] {
    this.#counter += 1;
    const tail = this.#tail;
    const digits = this.#counter.toString(16).padStart(NONCE_DIGITS / 2, '0');
    tail.write(digits, tail.length - NONCE_DIGITS / 2, 'latin1');
    if (this.#tsAt >= 0) tail.writeUInt32BE(Math.floor(Date.now() / 1000), this.#tsAt);
    const load = Buffer.concat([head.bytes, fields.inLoad, tail]);
    const sealed = key.seal(load, { iv: this.#iv() });
    return this.envelope(sealed, fields);
  }

  /** The envelope around a seal, in parts. */
  envelope(sealed: Buffer, fields: MinionFields): Uint8Array[] {
    return [this.#envelopeHead(sealed.length), sealed, fields.inEnvelope];
  }

  #iv(): Buffer {
    if (this.#ivAt === IV_POOL_BYTES) {
      randomFillSync(this.#ivs);
      this.#ivAt = 0;
    }
    const iv = this.#ivs.subarray(this.#ivAt, this.#ivAt + IV_BYTES);
    this.#ivAt += IV_BYTES;
    return iv;
  }

  /** Everything before the seal: `enc` and the header of `load` come first. */
  #envelopeHead(sealedBytes: number): Buffer {
    const known = this.#heads.get(sealedBytes);
    if (known !== undefined) return known;
    const parts = this.#version === 3 ? { id: 'x', encAlgo: ENC, sigAlgo: SIG } : {};
    const load = Buffer.alloc(sealedBytes);
    const full = aesEnvelope({ load, version: this.#version, ...parts });
    const own = pack(mapOf(envelopeFields(this.#version, 'x'))).length - 1;
    const head = Buffer.from(full.subarray(0, full.length - own - sealedBytes));
    if (this.#heads.size < MAX_HEADS) this.#heads.set(sealedBytes, head);
    return head;
  }
}

const ENC = DEFAULT_ENC_ALGO;
const SIG = DEFAULT_SIG_ALGO;
// Any time of these decades packs to five bytes, as this one.
const SOME_TIME = 0x70000000;

function tailFields(version: 2 | 3): Record<string, SaltValue> {
  const nonce = '0'.repeat(NONCE_DIGITS);
  return version === 3 ? { ts: SOME_TIME, nonce } : { nonce };
}

/** Minions of version 2 send no token with returns (protocol.md 5). */
function ownFields(version: 2 | 3, id: string, tok: Buffer): Record<string, SaltValue> {
  return version === 3 ? { id, tok } : { id };
}

function envelopeFields(version: 2 | 3, id: string): Record<string, SaltValue> {
  return version === 3 ? { version, id, enc_algo: ENC, sig_algo: SIG } : { version };
}
