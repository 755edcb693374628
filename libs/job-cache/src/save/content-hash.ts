import { digestOf, hexDigestOf } from '@brine/crypt';
import type { MapScan } from '@brine/wire';

/** The fields that identify a return; `ts` and the trace change at each send. */
const CONTENT_KEYS = ['id', 'jid', 'fun', 'return', 'retcode', 'success', 'out'] as const;

/** The name and the length, -1 if absent, precede the bytes of each field. */
const header = (key: string, length: number): string => `${key}:${length}\n`;
/** All headers with the longest lengths. */
const MAX_HEADER_BYTES = CONTENT_KEYS.map((key) => header(key, 2 ** 32)).join('').length;

/** A longer load is hashed piece by piece: copying it first would cost more than the calls. */
const TOGETHER_MAX_BYTES = 16_384;
/** Copying up to this many bytes costs less than a call. */
const SHORT_BYTES = 64;
/** Characters of 128 bits: the input of a uuid column. */
const HEX_CHARS = 32;

/** 128 bits of SHA-256 over the raw bytes of the content fields, as hex. */
export function contentHash(load: MapScan): string {
  const { bytesIn } = load;
  if (bytesIn.length > TOGETHER_MAX_BYTES) return hashOfPieces(load);
  const content = Buffer.allocUnsafe(MAX_HEADER_BYTES + bytesIn.length);
  let end = 0;
  for (const key of CONTENT_KEYS) {
    const field = load.range(key);
    const text = header(key, field === undefined ? -1 : field.valueEnd - field.valueStart);
    for (let at = 0; at < text.length; at += 1) content[end++] = text.charCodeAt(at);
    if (field === undefined) continue;
    const { valueStart, valueEnd } = field;
    if (valueEnd - valueStart > SHORT_BYTES) {
      end += bytesIn.copy(content, end, valueStart, valueEnd);
    } else {
      for (let at = valueStart; at < valueEnd; at += 1) content[end++] = bytesIn[at] as number;
    }
  }
  return hexDigestOf('sha256', content.subarray(0, end)).slice(0, HEX_CHARS);
}

function hashOfPieces(load: MapScan): string {
  const pieces = CONTENT_KEYS.flatMap((key) => {
    const bytes = load.raw(key);
    const head = Buffer.from(header(key, bytes?.length ?? -1));
    return bytes === undefined ? [head] : [head, bytes];
  });
  return digestOf('sha256', pieces).toString('hex').slice(0, HEX_CHARS);
}
