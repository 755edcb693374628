import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RsaVectors } from '../test/vectors.ts';
import { vectors } from '../test/vectors.ts';
import { constantTimeEqual } from './bytes.ts';
import { CryptError } from './errors.ts';
import { fingerprint, normalisePem } from './fingerprint.ts';
import { PrivateKey } from './keys.ts';
import { RecordMac } from './record-mac.ts';
import { SecretBox } from './secrets/secret-box.ts';

const [first, second] = vectors<RsaVectors>('rsa').keys;
const pem = first!.pem;

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof CryptError) return error.code;
    throw error;
  }
  return undefined;
}

describe('RecordMac', () => {
  const mac = RecordMac.fromMasterKey(pem, 'reactor');

  it('is of its parts, their order and their purpose, and of one master', () => {
    const made = mac.of('tag', Buffer.from('body'));
    expect(made).toMatch(/^[\w-]{22}$/);
    expect(
      RecordMac.fromMasterKey(PrivateKey.parse(pem), 'reactor').isOf(made, 'tag', 'body'),
    ).toBe(true);
    for (const parts of [['tag', 'bodY'], ['body', 'tag'], ['ta', 'gbody'], ['tag'], ['tagbody']]) {
      expect(mac.isOf(made, ...parts)).toBe(false);
    }
    expect(RecordMac.fromMasterKey(pem, 'schedule').isOf(made, 'tag', 'body')).toBe(false);
    expect(RecordMac.fromMasterKey(second!.pem, 'reactor').isOf(made, 'tag', 'body')).toBe(false);
    for (const other of ['', made.slice(1), `${made}A`]) {
      expect(mac.isOf(other, 'tag', 'body')).toBe(false);
    }
  });
});

describe('SecretBox', () => {
  const box = SecretBox.fromMasterKey(pem, 'aes');

  it('opens its own boxes, in another process with the same key as well', () => {
    const again = SecretBox.fromMasterKey(PrivateKey.parse(pem.replaceAll('\n', '\r\n')), 'aes');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(again.open(box.seal(bytes))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it('seals differently each time', () => {
    expect(box.seal(Buffer.from('x'))).not.toEqual(box.seal(Buffer.from('x')));
  });

  it('opens nothing of another purpose or another key', () => {
    const sealed = box.seal(Buffer.from('secret'));
    const purpose = SecretBox.fromMasterKey(pem, 'session');
    const key = SecretBox.fromMasterKey(second!.pem, 'aes');
    expect(codeOf(() => purpose.open(sealed))).toBe('SALT_CRYPT_BOX');
    expect(codeOf(() => key.open(sealed))).toBe('SALT_CRYPT_BOX');
  });

  it('opens nothing that was cut or altered anywhere', () => {
    const sealed = box.seal(Buffer.from('secret'));
    for (let at = 0; at < sealed.length; at += 1) {
      expect(codeOf(() => box.open(sealed.subarray(0, at)))).toBe('SALT_CRYPT_BOX');
      const altered = Buffer.from(sealed);
      altered[at] = (altered[at] ?? 0) ^ 0x10;
      expect(codeOf(() => box.open(altered))).toBe('SALT_CRYPT_BOX');
    }
  });
});

describe('fingerprints', () => {
  const text = '-----BEGIN PUBLIC KEY-----\nAAAA\nBBBB\n-----END PUBLIC KEY-----\n';
  const colons = (hex: string) => (hex.match(/../g) ?? []).join(':');

  it('of 3006 go over the inner lines with their ends, also without a last line feed', () => {
    const wanted = colons(createHash('sha256').update('AAAA\nBBBB\n').digest('hex'));
    expect(fingerprint(text, '3006')).toBe(wanted);
    expect(fingerprint(text.trim(), '3006')).toBe(wanted);
    expect(fingerprint(`\n${text}\n\n`, '3006')).toBe(wanted);
  });

  it('of 3008 go over the whole text', () => {
    expect(fingerprint(text, '3008')).toBe(colons(createHash('sha256').update(text).digest('hex')));
    expect(fingerprint(text.trim(), '3008')).not.toBe(fingerprint(text, '3008'));
  });

  it('use the hash that is named, of those that Salt knows', () => {
    expect(fingerprint(text, '3006', 'md5')).toHaveLength(16 * 3 - 1);
    expect(fingerprint(text, '3006', 'sha512')).toHaveLength(64 * 3 - 1);
    expect(codeOf(() => fingerprint(text, '3006', 'shake256'))).toBe('SALT_CRYPT_ALGORITHM');
  });
});

describe('texts', () => {
  it('of keys are compared trimmed and with line feeds', () => {
    expect(normalisePem(' \r\nA\r\nB\rC\n\n')).toBe('A\nB\nC');
  });

  it('are compared whole, whatever their length', () => {
    expect(constantTimeEqual('abc', 'abc')).toBe(true);
    expect(constantTimeEqual('abc', 'abd')).toBe(false);
    expect(constantTimeEqual('abc', 'abcd')).toBe(false);
    expect(constantTimeEqual('', '')).toBe(true);
  });
});
