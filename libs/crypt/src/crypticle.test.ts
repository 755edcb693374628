import { createHmac } from 'node:crypto';
import { mapOf, pack, unpack } from '@brine/wire';
import fc from 'fast-check';
import forge from 'node-forge';
import { describe, expect, it } from 'vitest';
import { b64, vectors } from '../test/vectors.ts';
import { Crypticle, newKeyString, SerialMemory } from './crypticle.ts';
import { CryptError } from './errors.ts';

interface CrypticleVectors {
  readonly key: string;
  readonly cases: readonly {
    readonly name: string;
    readonly iv?: string;
    readonly nonce: string | null;
    readonly plaintext?: string;
    readonly blob: string;
  }[];
  readonly negative: readonly {
    readonly name: string;
    readonly blob: string;
    readonly nonce?: string;
    readonly error?: string;
  }[];
  readonly serial_sequence: readonly {
    readonly serial: number;
    readonly blob: string;
    readonly result: Readonly<Record<string, unknown>>;
  }[];
}

const recorded = vectors<CrypticleVectors>('crypticle');
const box = new Crypticle(recorded.key);
const ERRORS: Readonly<Record<string, string>> = {
  AuthenticationError: 'SALT_CRYPT_MAC',
  SaltClientError: 'SALT_CRYPT_NONCE',
};

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof CryptError) return error.code;
    throw error;
  }
  return undefined;
}

/** A blob as Salt would seal it, made with node-forge and by hand. */
function forgeSeal(keyString: string, iv: Buffer, padded: Buffer): Buffer {
  const key = b64(keyString);
  const cipher = forge.cipher.createCipher(
    'AES-CBC',
    forge.util.createBuffer(key.subarray(0, 24).toString('binary')),
  );
  cipher.start({ iv: iv.toString('binary') });
  cipher.update(forge.util.createBuffer(padded.toString('binary')));
  // The padding is in place already; the type declarations do not know that it can be given.
  (cipher as unknown as { finish(pad: () => boolean): boolean }).finish(() => true);
  const body = Buffer.concat([iv, Buffer.from(cipher.output.getBytes(), 'binary')]);
  const mac = forge.hmac.create();
  mac.start('sha256', key.subarray(24).toString('binary'));
  mac.update(body.toString('binary'));
  return Buffer.concat([body, Buffer.from(mac.digest().getBytes(), 'binary')]);
}

/** A blob of any ciphertext with a right MAC, as only a holder of the key could make. */
function withMac(keyString: string, ivAndCiphertext: Buffer): Buffer {
  const mac = createHmac('sha256', b64(keyString).subarray(24)).update(ivAndCiphertext).digest();
  return Buffer.concat([ivAndCiphertext, mac]);
}

describe('recorded blobs', () => {
  it.each(recorded.cases)('$name opens to its plaintext', (vector) => {
    const blob = b64(vector.blob);
    const body = vector.nonce === null ? box.open(blob) : box.openReply(blob, vector.nonce);
    expect(body).toBeDefined();
    if (vector.plaintext !== undefined) {
      const head = 'pickle::'.length + (vector.nonce?.length ?? 0);
      expect(body).toEqual(b64(vector.plaintext).subarray(head));
    }
    expect(() => unpack(body ?? Buffer.alloc(0))).not.toThrow();
  });

  it.each(recorded.cases.filter((vector) => vector.iv !== undefined))(
    '$name is sealed to the same bytes under the same IV',
    (vector) => {
      const head = 'pickle::'.length + (vector.nonce?.length ?? 0);
      const body = b64(vector.plaintext ?? '').subarray(head);
      const iv = Buffer.from(vector.iv ?? '', 'hex');
      const options = vector.nonce === null ? { iv } : { iv, nonce: vector.nonce };
      expect(box.seal(body, options)).toEqual(b64(vector.blob));
    },
  );

  it.each(recorded.negative)('$name ends as in Salt', (vector) => {
    const blob = b64(vector.blob);
    const open = () =>
      vector.nonce === undefined ? box.open(blob) : box.openReply(blob, vector.nonce);
    if (vector.error === undefined) expect(open()).toBeUndefined();
    else expect(codeOf(open)).toBe(ERRORS[vector.error]);
  });

  it('takes each serial only if it is higher than all before', () => {
    const memory = new SerialMemory();
    for (const step of recorded.serial_sequence) {
      const load = unpack(box.open(b64(step.blob)) ?? Buffer.alloc(0));
      const serial = load instanceof Map ? load.get('serial') : undefined;
      expect(serial).toBe(step.serial);
      const taken = memory.accept(step.serial);
      expect(taken).toBe(Object.keys(step.result).length > 0);
    }
  });
});

describe('Crypticle', () => {
  const iv = Buffer.alloc(16, 0xaa);

  it('gives back the sealed bytes, with and without nonce', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.stringMatching(/^[0-9a-f]{32}$/),
        (b, n) => {
          const other = new Crypticle(newKeyString());
          expect(other.open(other.seal(b))).toEqual(Buffer.from(b));
          expect(other.openReply(other.seal(b, { nonce: n }), n)).toEqual(Buffer.from(b));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('seals as node-forge does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (body) => {
        const plain = Buffer.concat([Buffer.from('pickle::'), body]);
        const pad = 16 - (plain.length % 16);
        const padded = Buffer.concat([plain, Buffer.alloc(pad, pad)]);
        expect(box.seal(body, { iv })).toEqual(forgeSeal(recorded.key, iv, padded));
      }),
      { numRuns: 40 },
    );
  });

  it('refuses a blob cut at any place, or with any bit changed', () => {
    const blob = box.seal(pack(mapOf({ a: 'b' })), { iv });
    for (let length = 0; length < blob.length; length += 1) {
      expect(codeOf(() => box.open(blob.subarray(0, length)))).toBe('SALT_CRYPT_MAC');
    }
    for (let bit = 0; bit < blob.length * 8; bit += 1) {
      const changed = Buffer.from(blob);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(codeOf(() => box.open(changed))).toBe('SALT_CRYPT_MAC');
    }
  });

  it('opens to nothing where the padding eats all, as Python slices', () => {
    for (const pad of [0, 17, 255]) {
      const block = Buffer.from('pickle::1234567\0');
      block[15] = pad;
      expect(box.open(forgeSeal(recorded.key, iv, block))).toBeUndefined();
    }
  });

  it('does not check the padding bytes, as Salt does not', () => {
    const block = Buffer.from('pickle::\xc0234567\x07', 'latin1');
    expect(box.open(forgeSeal(recorded.key, iv, block))).toEqual(Buffer.from([0xc0]));
  });

  it('refuses sealed bytes that are no whole blocks with a typed error', () => {
    for (const length of [0, 1, 15, 17]) {
      const blob = withMac(recorded.key, Buffer.alloc(16 + length));
      expect(codeOf(() => box.open(blob))).toBe('SALT_CRYPT_LENGTH');
    }
  });

  it('takes a reply without room for a nonce as a reply to something else', () => {
    const nonce = '0'.repeat(32);
    expect(codeOf(() => box.openReply(box.seal(Buffer.from([0xc0])), nonce))).toBe(
      'SALT_CRYPT_NONCE',
    );
    expect(codeOf(() => box.openReply(box.seal(Buffer.alloc(32, 0x30)), ''))).toBe(
      'SALT_CRYPT_NONCE',
    );
  });

  it('takes only the base64 of 56 bytes as a key string', () => {
    for (const text of ['', 'x', Buffer.alloc(55).toString('base64'), 'A'.repeat(76)]) {
      expect(codeOf(() => new Crypticle(text))).toBe('SALT_CRYPT_KEY');
    }
    expect(codeOf(() => new Crypticle(`${recorded.key}*`))).toBe('SALT_CRYPT_KEY');
    expect(new Crypticle(`${recorded.key}\n`).keyString).toBe(recorded.key);
    expect(newKeyString()).toHaveLength(76);
    expect(newKeyString((count) => Buffer.alloc(count))).toBe(Buffer.alloc(56).toString('base64'));
  });

  it('refuses an IV of another length', () => {
    expect(codeOf(() => box.seal(Buffer.alloc(1), { iv: Buffer.alloc(15) }))).toBe(
      'SALT_CRYPT_LENGTH',
    );
  });
});

describe('SerialMemory', () => {
  it('takes numbers and big integers in one order, and nothing that is not finite', () => {
    const memory = new SerialMemory();
    expect(memory.accept(1)).toBe(true);
    expect(memory.accept(2n ** 60n)).toBe(true);
    expect(memory.accept(2 ** 59)).toBe(false);
    expect(memory.accept(2n ** 60n + 1n)).toBe(true);
    expect(memory.accept(Number.NaN)).toBe(false);
    expect(memory.accept(Number.POSITIVE_INFINITY)).toBe(false);
  });
});
