import { BusError } from '../connection/errors.ts';

declare const bucketKey: unique symbol;

/** A key of a bucket; only {@link escapeKey} makes one, so that no id is ever used raw. */
export type BucketKey = string & { readonly [bucketKey]: true };

const PLAIN = /^[A-Za-z0-9_-]+$/;
const TOKEN = /^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/;

/**
 * One escaped token for each text, joined by dots: `escapeKey('web1.example.com')`,
 * `escapeKey('aes', '3')`. Minion ids contain dots, and NATS keys and subjects are made of
 * dot-separated tokens. Every byte outside `A-Z a-z 0-9 _ -` becomes `=XX`; an empty text `=`.
 */
export function escapeKey(first: string, ...more: readonly string[]): BucketKey {
  const tokens =
    more.length === 0 ? escapeToken(first) : [first, ...more].map(escapeToken).join('.');
  return tokens as BucketKey;
}

/**
 * The texts that {@link escapeKey} was given.
 * @throws BusError `BUS_BAD_KEY` for a key that no `escapeKey` could have made.
 */
export function splitKey(key: string): readonly string[] {
  return key.split('.').map(unescapeToken);
}

/**
 * The text of a key with one token.
 * @throws BusError `BUS_BAD_KEY` for a key of several tokens or not made by {@link escapeKey}.
 */
export function unescapeKey(key: string): string {
  return unescapeToken(key);
}

/** Escapes one text to one token of a subject or key. */
export function escapeToken(text: string): string {
  if (PLAIN.test(text)) return text;
  if (text === '') return '=';
  let token = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const char = String.fromCharCode(byte);
    token += PLAIN.test(char) ? char : `=${hex(byte)}`;
  }
  return token;
}

/**
 * The text of one escaped token.
 * @throws BusError `BUS_BAD_KEY` unless it is exactly what {@link escapeToken} makes of some text.
 */
export function unescapeToken(token: string): string {
  if (PLAIN.test(token)) return token;
  if (token === '=') return '';
  if (!TOKEN.test(token)) throw badKey(token);
  const text = decodeEscapes(token, '=');
  // Only one spelling of a text is a key: "=41" for "A" would let one id have two records.
  if (escapeToken(text) !== token) throw badKey(token);
  return text;
}

/** Makes a text fit for a NATS header: printable ASCII, no blank at either end, reversible. */
export function escapeHeader(text: string): string {
  if (/^[!-$&-~]+$/.test(text)) return text;
  let safe = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    safe +=
      byte > 0x20 && byte < 0x7f && byte !== 0x25 ? String.fromCharCode(byte) : `%${hex(byte)}`;
  }
  return safe;
}

/** The text that {@link escapeHeader} was given. */
export function unescapeHeader(safe: string): string {
  return safe.includes('%') ? decodeEscapes(safe, '%') : safe;
}

function decodeEscapes(text: string, mark: '=' | '%'): string {
  const bytes = Buffer.alloc(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === mark) {
      bytes[length++] = Number.parseInt(text.slice(at + 1, at + 3), 16);
      at += 2;
    } else {
      bytes[length++] = text.charCodeAt(at);
    }
  }
  return bytes.toString('utf8', 0, length);
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}

function badKey(token: string): BusError {
  return new BusError('BUS_BAD_KEY', `not an escaped key: ${JSON.stringify(token.slice(0, 100))}`);
}
