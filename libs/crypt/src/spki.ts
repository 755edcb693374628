/**
 * The form that Python's cryptography and OpenSSL write: lines of 64 characters (RFC 7468). OpenSSL
 * reads all others.
 */
const HEAD = '-----BEGIN PUBLIC KEY-----\n';
const FOOT = '\n-----END PUBLIC KEY-----';
const USUAL_LINES = /^(?:[A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/]{1,64}={0,2}$/;

/** AlgorithmIdentifier of rsaEncryption with NULL parameters (RFC 8017, A.1). */
const RSA_ENCRYPTION = Buffer.from('300d06092a864886f70d0101010500', 'hex');

const SEQUENCE = 0x30;
const BIT_STRING = 0x03;

/**
 * The RSAPublicKey (PKCS#1, DER) in a `PUBLIC KEY` PEM of the usual form. Undefined for every other
 * text, also for correct ones. Node takes 300 µs for a key in PEM, since OpenSSL searches for a
 * fitting decoder, and 12 µs for these bytes. Each log-in of a herd brings a key.
 */
export function usualRsaKey(pem: string): Buffer | undefined {
  if (!pem.startsWith(HEAD) || !pem.endsWith(FOOT)) return undefined;
  const text = pem.slice(HEAD.length, -FOOT.length);
  if (!USUAL_LINES.test(text)) return undefined;
  const der = Buffer.from(text, 'base64');
  // The text must be the only one for its bytes: no stray bits, no missing padding.
  if (der.toString('base64') !== text.replaceAll('\n', '')) return undefined;
  const content = whole(der, SEQUENCE);
  if (!content?.subarray(0, RSA_ENCRYPTION.length).equals(RSA_ENCRYPTION)) return undefined;
  const bits = whole(content.subarray(RSA_ENCRYPTION.length), BIT_STRING);
  // The first byte counts unused bits.
  if (bits === undefined || bits[0] !== 0) return undefined;
  const key = bits.subarray(1);
  return whole(key, SEQUENCE) === undefined ? undefined : key;
}

/** The content of a single DER element with this tag and the shortest form of its length. */
function whole(bytes: Buffer, tag: number): Buffer | undefined {
  const first = bytes[1];
  if (bytes[0] !== tag || first === undefined) return undefined;
  if (first < 0x80) return bytes.length === 2 + first ? bytes.subarray(2) : undefined;
  const size = first - 0x80;
  if (size < 1 || size > 2 || bytes.length < 2 + size) return undefined;
  const length = bytes.readUIntBE(2, size);
  if (length < (size === 1 ? 0x80 : 0x100)) return undefined;
  return bytes.length === 2 + size + length ? bytes.subarray(2 + size) : undefined;
}
