import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const SALT = 'brine http session 1';

/** Length of an id in bytes: 40 hexadecimal digits, as those of a stock salt-api. */
const ID_BYTES = 20;

/** A new id, which no one can guess. */
export function newSessionId(): string {
  return randomBytes(ID_BYTES).toString('hex');
}

/** True for a text in the form of an id; no other text is looked up. */
export function isSessionId(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}

/** The name under which a session is stored: it does not reveal the id. */
export function storedName(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}

/**
 * Seals a record with its session's id, so that a copy of the store opens nothing. Layout: 12 bytes
 * IV, ciphertext, 16 bytes tag.
 */
export function sealSession(id: string, record: object): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(id), iv);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(record), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, sealed, cipher.getAuthTag()]);
}

/** Opens a sealed record. @throws Error if it was sealed with another id */
export function openSession(id: string, sealed: Uint8Array): unknown {
  const bytes = Buffer.from(sealed);
  const iv = bytes.subarray(0, IV_BYTES);
  const decipher = createDecipheriv(CIPHER, keyOf(id), iv, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  const text = decipher.update(
    bytes.subarray(IV_BYTES, bytes.length - TAG_BYTES),
    undefined,
    'utf8',
  );
  return JSON.parse(text + decipher.final('utf8'));
}

function keyOf(id: string): Buffer {
  return Buffer.from(hkdfSync('sha256', id, SALT, 'record', 32));
}
