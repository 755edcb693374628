import { isUtf8 } from 'node:buffer';

/** A Buffer over the same memory; no copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Text if the bytes are valid UTF-8 (a byte order mark is kept), else a view of the bytes: the rule
 * of Salt's receivers (Salt: salt/transport/frame.py decode_embedded_strs).
 */
export function textOrBytes(bytes: Buffer, start: number, end: number): string | Buffer {
  const length = end - start;
  if (length <= SHORT_TEXT_BYTES) {
    let at = start;
    while (at < end && (bytes[at] as number) < 0x80) at += 1;
    if (at === end) return bytes.toString('latin1', start, end);
  }
  const view = bytes.subarray(start, end);
  return isUtf8(view) ? bytes.toString('utf8', start, end) : view;
}

/** Below this length looking at each byte here is cheaper than a call into native code. */
const SHORT_TEXT_BYTES = 48;

/** True if these bytes are the ASCII text. */
export function isAsciiAt(bytes: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}
