import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RsaVectors } from '../test/vectors.ts';
import { vectors } from '../test/vectors.ts';
import { usualRsaKey } from './spki.ts';

function pemOf(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----'].join('\n');
}

function newPem(bits: number, publicExponent: number): string {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: bits, publicExponent });
  return publicKey.export({ type: 'spki', format: 'pem' }).toString().trim();
}

/** The key as OpenSSL reads it, in PEM again; undefined where it refuses it. */
function byOpenssl(input: Parameters<typeof createPublicKey>[0]): string | undefined {
  try {
    return createPublicKey(input).export({ type: 'spki', format: 'pem' }).toString().trim();
  } catch {
    return undefined;
  }
}

function byParts(key: Buffer): string | undefined {
  return byOpenssl({ key, format: 'der', type: 'pkcs1' });
}

const PEMS = [
  ...vectors<RsaVectors>('rsa').keys.map(({ pub }) => pub.trim()),
  newPem(1024, 3),
  newPem(1032, 65_537),
  newPem(4096, 65_537),
];

describe('usual public keys', () => {
  it.each(PEMS)('are read as OpenSSL reads them %#', (pem) => {
    const key = usualRsaKey(pem);
    expect(key && byParts(key)).toBe(pem);
  });

  it('are refused where OpenSSL refuses the whole, and never another key', () => {
    const mutation = fc.record({
      at: fc.nat(340),
      byte: fc.nat(255),
      kind: fc.constantFrom('set', 'insert', 'remove', 'cut'),
    });
    const der = createPublicKey(PEMS[0] ?? '').export({ type: 'spki', format: 'der' });
    let read = 0;
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
        let bytes = [...der];
        for (const { at, byte, kind } of mutations) {
          if (kind === 'set') bytes[at % bytes.length] = byte;
          else if (kind === 'cut') bytes = bytes.slice(0, at);
          else bytes.splice(at, kind === 'remove' ? 1 : 0, ...(kind === 'insert' ? [byte] : []));
          if (bytes.length === 0) return;
        }
        const pem = pemOf(Buffer.from(bytes));
        const key = usualRsaKey(pem);
        if (key === undefined) return;
        read += 1;
        expect(byParts(key)).toBe(byOpenssl(pem));
      }),
      { numRuns: 2_000 },
    );
    expect(read).toBeGreaterThan(100);
  });

  it.each([
    ['no key at all', ''],
    ['carriage returns', PEMS[0]?.replaceAll('\n', '\r\n')],
    ['one long line', PEMS[0]?.replaceAll(/(?<=[A-Za-z0-9+/])\n(?=[A-Za-z0-9+/])/g, '')],
    ['text behind it', `${PEMS[0]}\nx`],
    [
      'another kind',
      generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }),
    ],
    ['PKCS#1', createPublicKey(PEMS[0] ?? '').export({ type: 'pkcs1', format: 'pem' })],
  ])('are left to OpenSSL where they are not usual: %s', (_, pem) => {
    expect(usualRsaKey(String(pem).trim())).toBeUndefined();
  });
});
