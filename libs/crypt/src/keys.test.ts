import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import forge from 'node-forge';
import { describe, expect, it } from 'vitest';
import type { KeyVector, RsaVectors } from '../test/vectors.ts';
import { b64, vectors } from '../test/vectors.ts';
import { CryptError } from './errors.ts';
import { normalisePem } from './fingerprint.ts';
import type { EncAlgo, SigAlgo } from './keys.ts';
import { isEncAlgo, isSigAlgo, PrivateKey, PublicKey } from './keys.ts';
import { checkMinionToken, minionToken } from './token.ts';
import { x931Block, x931Message } from './x931.ts';

const recorded = vectors<RsaVectors>('rsa');
const pairs = recorded.keys.map((vector) => ({
  vector,
  bits: vector.bits,
  key: PrivateKey.parse(vector.pem),
  pub: PublicKey.parse(vector.pub),
}));

function encAlgo(name: string): EncAlgo {
  if (!isEncAlgo(name)) throw new Error(name);
  return name;
}

function sigAlgo(name: string): SigAlgo {
  if (!isSigAlgo(name)) throw new Error(name);
  return name;
}

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof CryptError) return error.code;
    throw error;
  }
  return undefined;
}

describe.each(pairs)('the recorded key of $bits bits', ({ vector, key, pub, bits }) => {
  it('keeps its PEM forms', () => {
    expect(normalisePem(key.pem)).toBe(normalisePem(vector.pem));
    expect(normalisePem(pub.pem)).toBe(normalisePem(vector.pub));
    expect(key.publicKey.pem).toBe(pub.pem);
    expect(pub.bits).toBe(bits);
  });

  it('makes and reads every X9.31 block', () => {
    for (const { message, block } of vector.x931) {
      expect(key.x931Encrypt(b64(message))).toEqual(b64(block));
      expect(pub.x931Recover(b64(block))).toEqual(b64(message));
    }
  });

  it('opens every OAEP ciphertext', () => {
    for (const { algorithm, plaintext, ciphertext } of vector.oaep) {
      expect(key.oaepDecrypt(b64(ciphertext), encAlgo(algorithm))).toEqual(b64(plaintext));
    }
  });

  it('makes and checks every signature', () => {
    for (const { algorithm, message, signature } of vector.sign) {
      const algo = sigAlgo(algorithm);
      expect(key.sign(b64(message), algo)).toEqual(b64(signature));
      expect(pub.verify(b64(message), b64(signature), algo)).toBe(true);
    }
  });

  it('refuses signatures over other bytes, of other algorithms, cut or altered', () => {
    const data = Buffer.from('data');
    const sig = key.sign(data, 'PKCS1v15-SHA1');
    expect(pub.verify(Buffer.from('date'), sig, 'PKCS1v15-SHA1')).toBe(false);
    expect(pub.verify(data, sig, 'PKCS1v15-SHA224')).toBe(false);
    for (let length = 0; length < sig.length; length += 1) {
      expect(pub.verify(data, sig.subarray(0, length), 'PKCS1v15-SHA1')).toBe(false);
    }
    expect(pub.verify(data, Buffer.alloc(sig.length), 'PKCS1v15-SHA1')).toBe(false);
    expect(pub.verify(data, Buffer.alloc(sig.length, 0xff), 'PKCS1v15-SHA1')).toBe(false);
  });

  it('recovers nothing from bytes that are no X9.31 block of this key', () => {
    const tok = minionToken(key);
    expect(checkMinionToken(pub, tok)).toBe(true);
    for (let length = 0; length < tok.length; length += 1) {
      expect(pub.x931Recover(tok.subarray(0, length))).toBeUndefined();
    }
    expect(pub.x931Recover(Buffer.alloc(tok.length))).toBeUndefined();
    expect(pub.x931Recover(Buffer.alloc(tok.length, 0xff))).toBeUndefined();
    const altered = Buffer.from(tok);
    altered[5] = (altered[5] ?? 0) ^ 1;
    expect(checkMinionToken(pub, altered)).toBe(false);
    expect(checkMinionToken(pub, key.x931Encrypt(Buffer.from('salt!')))).toBe(false);
  });
});

describe('node-forge as a second implementation', () => {
  const { vector, key, pub } = pairs[0]!;
  const forgeKey = forge.pki.privateKeyFromPem(vector.pem);
  const forgePub = forge.pki.publicKeyFromPem(vector.pub);
  it('opens what we seal and seals what we open, OAEP with SHA-1', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (data) => {
        const plain = Buffer.from(data).toString('binary');
        const sealed = pub.oaepEncrypt(data, 'OAEP-SHA1').toString('binary');
        expect(forgeKey.decrypt(sealed, 'RSA-OAEP')).toBe(plain);
        const theirs = Buffer.from(forgePub.encrypt(plain, 'RSA-OAEP'), 'binary');
        expect(key.oaepDecrypt(theirs, 'OAEP-SHA1')).toEqual(Buffer.from(data));
      }),
      { numRuns: 8 },
    );
  });

  it('signs the same and verifies ours, SHA-1', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (data) => {
        const digest = forge.md.sha1.create();
        digest.update(Buffer.from(data).toString('binary'));
        const theirs = Buffer.from(forgeKey.sign(digest), 'binary');
        expect(key.sign(data, 'PKCS1v15-SHA1')).toEqual(theirs);
      }),
      { numRuns: 8 },
    );
  });

  it('computes the same power for X9.31', () => {
    const n = BigInt(`0x${forgeKey.n.toString(16)}`);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 250 }), (message) => {
        const block = BigInt(`0x${x931Block(message, 256).toString('hex')}`);
        const base = new forge.jsbn.BigInteger(block.toString(16), 16);
        const power = BigInt(`0x${base.modPow(forgeKey.d, forgeKey.n).toString(16)}`);
        const smaller = power < n - power ? power : n - power;
        const hex = smaller.toString(16).padStart(512, '0');
        expect(key.x931Encrypt(message).toString('hex')).toBe(hex);
        expect(pub.x931Recover(Buffer.from(hex, 'hex'))).toEqual(Buffer.from(message));
      }),
      { numRuns: 6 },
    );
  });
});

describe('X9.31 blocks', () => {
  it('take every message that fits and refuse longer ones', () => {
    for (let length = 0; length <= 62; length += 1) {
      const message = Buffer.alloc(length, 0xbb);
      const block = x931Block(message, 64);
      expect(block[0]).toBe(length === 62 ? 0x6a : 0x6b);
      expect(x931Message(block)).toEqual(message);
    }
    expect(codeOf(() => x931Block(Buffer.alloc(63), 64))).toBe('SALT_CRYPT_LENGTH');
  });

  it('are recognised by head, filler and trailer', () => {
    const good = x931Block(Buffer.from('salt'), 64);
    for (const [at, byte] of [
      [0, 0x6c],
      [3, 0xbc],
      [63, 0xcd],
    ] as const) {
      const bad = Buffer.from(good);
      bad[at] = byte;
      expect(x931Message(bad)).toBeUndefined();
    }
    expect(
      x931Message(Buffer.concat([Buffer.from([0x6b]), Buffer.alloc(62, 0xbb)])),
    ).toBeUndefined();
    const endless = Buffer.alloc(64, 0xbb);
    endless[0] = 0x6b;
    endless[63] = 0xcc;
    expect(x931Message(endless)).toBeUndefined();
  });
});

describe('keys', () => {
  it('of any recorded minion give a token that only their own public key accepts', () => {
    const { minion_keys: keys } = vectors<{
      readonly minion_keys: Readonly<Record<string, KeyVector>>;
    }>('auth');
    const all = Object.values(keys).map((pair) => ({
      key: PrivateKey.parse(pair.pem),
      pub: PublicKey.parse(pair.pub),
    }));
    for (const [index, { key }] of all.entries()) {
      const tok = minionToken(key);
      for (const [other, { pub }] of all.entries()) {
        expect(checkMinionToken(pub, tok)).toBe(index === other);
      }
    }
  });

  it('are made at the size asked for, and read back', async () => {
    const key = await PrivateKey.generate(2048);
    expect(key.publicKey.bits).toBe(2048);
    expect(key.pem).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
    expect(PrivateKey.parse(key.pem).publicKey.pem).toBe(key.publicKey.pem);
    const sealed = key.publicKey.oaepEncrypt(Buffer.from('x'), 'OAEP-SHA224');
    expect(key.oaepDecrypt(sealed, 'OAEP-SHA224')).toEqual(Buffer.from('x'));
  });

  it('are not made at unusable sizes', async () => {
    for (const bits of [0, 512, 2047, 65_536, Number.NaN]) {
      await expect(PrivateKey.generate(bits)).rejects.toThrow(CryptError);
    }
  });

  it('are read from the older RSA PUBLIC KEY form, and with CRLF', () => {
    const { vector, pub } = pairs[0]!;
    const rsaForm = forge.pki.publicKeyToRSAPublicKeyPem(forge.pki.publicKeyFromPem(vector.pub));
    expect(PublicKey.parse(rsaForm).pem).toBe(pub.pem);
    expect(PublicKey.parse(vector.pub.replaceAll('\n', '\r\n')).pem).toBe(pub.pem);
  });

  it('are refused with a typed error when they are anything else', () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
    const small = generateKeyPairSync('rsa', { modulusLength: 512 }).publicKey;
    const { vector } = pairs[0]!;
    const bad = [
      '',
      'hello',
      '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----',
      vector.pem,
      vector.pub.slice(0, 200),
      vector.pub.replace('MII', 'XII'),
      'x'.repeat(100_000),
      `-----BEGIN PUBLIC KEY-----\n${'A'.repeat(100_000)}`,
      ec.export({ type: 'spki', format: 'pem' }).toString(),
      evenModulus(vector.pub),
      small.export({ type: 'spki', format: 'pem' }).toString(),
    ];
    for (const text of bad) {
      expect(codeOf(() => PublicKey.parse(text))).toBe('SALT_CRYPT_KEY');
    }
    expect(codeOf(() => PrivateKey.parse(vector.pub))).toBe('SALT_CRYPT_KEY');
    expect(codeOf(() => PrivateKey.parse('x'.repeat(100_000)))).toBe('SALT_CRYPT_KEY');
  });

  it('refuse data that is too long or not sealed to them', () => {
    const { key, pub } = pairs[0]!;
    expect(codeOf(() => pub.oaepEncrypt(Buffer.alloc(500), 'OAEP-SHA1'))).toBe('SALT_CRYPT_LENGTH');
    for (const length of [0, 1, 255, 256, 257]) {
      const data = Buffer.alloc(length, 7);
      expect(codeOf(() => key.oaepDecrypt(data, 'OAEP-SHA1'))).toBe('SALT_CRYPT_PADDING');
    }
    const sealed = pub.oaepEncrypt(Buffer.from('x'), 'OAEP-SHA1');
    expect(codeOf(() => key.oaepDecrypt(sealed, 'OAEP-SHA224'))).toBe('SALT_CRYPT_PADDING');
  });
});

/** The key with the last bit of its modulus cleared: OpenSSL cannot compute with such a one. */
function evenModulus(pub: string): string {
  const key = forge.pki.publicKeyFromPem(pub);
  const even = key.n.subtract(forge.jsbn.BigInteger.ONE);
  return forge.pki.publicKeyToPem(forge.pki.setRsaPublicKey(even, key.e));
}

describe('algorithm names', () => {
  it('are the four that Salt knows and no property of an object', () => {
    for (const name of ['OAEP-SHA1', 'OAEP-SHA224']) expect(isEncAlgo(name)).toBe(true);
    for (const name of ['PKCS1v15-SHA1', 'PKCS1v15-SHA224']) expect(isSigAlgo(name)).toBe(true);
    for (const name of ['', 'OAEP-SHA256', 'constructor', '__proto__', 'oaep-sha1']) {
      expect(isEncAlgo(name)).toBe(false);
      expect(isSigAlgo(name)).toBe(false);
    }
  });
});

it('another thread gives the same results as this one', async () => {
  const key = await PrivateKey.generate(1024);
  const data = Buffer.from('a token');
  const sig = await key.signAsync(data, 'PKCS1v15-SHA224');
  expect(sig).toEqual(key.sign(data, 'PKCS1v15-SHA224'));
  const sealed = Array.from({ length: 9 }, () => key.publicKey.oaepEncrypt(data, 'OAEP-SHA1'));
  const opened = await Promise.all(sealed.map((one) => key.oaepDecryptAsync(one)));
  for (const one of opened) expect(one).toEqual(data);
  const other = key.publicKey.oaepEncrypt(data, 'OAEP-SHA224');
  const refused = { code: 'SALT_CRYPT_PADDING' };
  await expect(key.oaepDecryptAsync(other)).rejects.toMatchObject(refused);
  await expect(key.oaepDecryptAsync(Buffer.alloc(3))).rejects.toMatchObject(refused);
});
