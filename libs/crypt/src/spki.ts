import type { JsonWebKey } from 'node:crypto';

/**
 * What Python's cryptography and OpenSSL write: lines of 64 characters (RFC 7468). Anything else is
 * left to OpenSSL.
 */
const HEAD = '-----BEGIN PUBLIC KEY-----\n';
const FOOT = '\n-----END PUBLIC KEY-----';
const USUAL_LINES = /^(?:[A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/]{1,64}={0,2}$/;

/** AlgorithmIdentifier of rsaEncryption with NULL parameters (RFC 8017, A.1). */
const RSA_ENCRYPTION = Buffer.from('300d06092a864886f70d0101010500', 'hex');

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const BIT_STRING = 0x03;

/**
 * Modulus and exponent of an RSA key in a `PUBLIC KEY` PEM of the usual form; undefined for every
 * other text, also for correct ones: OpenSSL is to judge those. Its own way through PEM costs
 * 300 µs a key, from these two numbers it makes one in 11, and in a herd each log-in brings one.
 */
export function usualRsaKey(pem: string): JsonWebKey | undefined {
  if (!pem.startsWith(HEAD) || !pem.endsWith(FOOT)) return undefined;
  const text = pem.slice(HEAD.length, -FOOT.length);
  if (!USUAL_LINES.test(text)) return undefined;
  const der = Buffer.from(text, 'base64');
  // The same text again: no stray bits behind the last byte, no padding left out.
  if (der.toString('base64') !== text.replaceAll('\n', '')) return undefined;
  const outer = read(der, SEQUENCE);
  if (outer === undefined || outer.rest.length > 0) return undefined;
  const { content } = outer;
  if (!content.subarray(0, RSA_ENCRYPTION.length).equals(RSA_ENCRYPTION)) return undefined;
  const bits = read(content.subarray(RSA_ENCRYPTION.length), BIT_STRING);
  // The first byte counts unused bits.
  if (bits === undefined || bits.rest.length > 0 || bits.content[0] !== 0) return undefined;
  const pair = read(bits.content.subarray(1), SEQUENCE);
  if (pair === undefined || pair.rest.length > 0) return undefined;
  const modulus = readPositive(pair.content);
  if (modulus === undefined) return undefined;
  const exponent = readPositive(modulus.rest);
  if (exponent === undefined || exponent.rest.length > 0) return undefined;
  return {
    kty: 'RSA',
    n: modulus.content.toString('base64url'),
    e: exponent.content.toString('base64url'),
  };
}

interface Element {
  readonly content: Buffer;
  readonly rest: Buffer;
}

/** One DER element of the tag, its length in the shortest form, at the start of the bytes. */
function read(bytes: Buffer, tag: number): Element | undefined {
  const first = bytes[1];
  if (bytes[0] !== tag || first === undefined) return undefined;
  let start = 2;
  let length = first;
  if (first >= 0x80) {
    const size = first - 0x80;
    if (size < 1 || size > 2 || bytes.length < 2 + size) return undefined;
    length = bytes.readUIntBE(2, size);
    start += size;
    if (length < (size === 1 ? 0x80 : 0x100)) return undefined;
  }
  if (bytes.length < start + length) return undefined;
  return { content: bytes.subarray(start, start + length), rest: bytes.subarray(start + length) };
}

/** A positive INTEGER in its shortest form, without the zero that keeps it positive. */
function readPositive(bytes: Buffer): Element | undefined {
  const element = read(bytes, INTEGER);
  const first = element?.content[0];
  if (element === undefined || first === undefined || first >= 0x80) return undefined;
  if (first !== 0) return element;
  const second = element.content[1];
  if (second === undefined || second < 0x80) return undefined;
  return { content: element.content.subarray(1), rest: element.rest };
}
