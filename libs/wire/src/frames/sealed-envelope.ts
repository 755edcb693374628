const KEYS = ['enc', 'load', 'version', 'id', 'enc_algo', 'sig_algo'] as const;
const FIXSTR = 0xa0;
const STR8 = 0xd9;
const STR16 = 0xda;
const BIN8 = 0xc4;
const BIN16 = 0xc5;
/** The bits of the first four keys. */
const ALL_NEEDED = 0b1111;

/**
 * The minion that a sealed request names, if its envelope fits at least this version and has the
 * form that every minion sends: a short map of Salt's own keys, each once. Undefined for every
 * other envelope, even a sealed or refusable one: read those in full.
 *
 * It reads no value that does not decide, and allocates only the name.
 */
export function minionOfSealed(bytes: Buffer, minimumVersion: number): string | undefined {
  const count = (bytes[0] ?? 0) - 0x80;
  if (count < 0 || count > KEYS.length) return undefined;
  let at = 1;
  let seen = 0;
  let idAt = 0;
  let idEnd = 0;
  for (let index = 0; index < count; index += 1) {
    const key = keyAt(bytes, at);
    const bit = 1 << key;
    if (key < 0 || (seen & bit) !== 0) return undefined;
    seen |= bit;
    at += 1 + (KEYS[key] as string).length;
    const start = contentAt(bytes, at, key);
    if (start < 0) return undefined;
    const end = start + contentLength(bytes, at, start);
    // Detects truncation: a byte beyond the last one was read as 0.
    if (end > bytes.length) return undefined;
    if (key === 2 && (bytes[at] as number) < minimumVersion) return undefined;
    if (key === 3) [idAt, idEnd] = [start, end];
    at = end;
  }
  if (at !== bytes.length || (seen & ALL_NEEDED) !== ALL_NEEDED) return undefined;
  return isPlainName(bytes, idAt, idEnd) ? bytes.toString('latin1', idAt, idEnd) : undefined;
}

/** The number of the key that begins here; -1 if it is none of Salt's. */
function keyAt(bytes: Buffer, at: number): number {
  switch (bytes[at]) {
    case FIXSTR | 2:
      return keyIf(bytes, at, 3);
    case FIXSTR | 3:
      return keyIf(bytes, at, 0);
    case FIXSTR | 4:
      return keyIf(bytes, at, 1);
    case FIXSTR | 7:
      return keyIf(bytes, at, 2);
    case FIXSTR | 8:
      return keyIf(bytes, at, bytes[at + 1] === 0x65 ? 4 : 5);
    default:
      return -1;
  }
}

function keyIf(bytes: Buffer, at: number, key: number): number {
  return isTextAt(bytes, at + 1, KEYS[key] as string) ? key : -1;
}

/** Where the content of a key's value begins; -1 for a value that no minion would send. */
function contentAt(bytes: Buffer, at: number, key: number): number {
  const type = bytes[at] ?? 0xc1;
  if (key === 0) return type === (FIXSTR | 3) && isTextAt(bytes, at + 1, 'aes') ? at + 1 : -1;
  if (key === 2) return type < 0x80 ? at + 1 : -1;
  if (type >= FIXSTR && type < FIXSTR + 32) return at + 1;
  if (type === BIN8 || type === STR8) return at + 2;
  return type === BIN16 || type === STR16 ? at + 3 : -1;
}

/** The length of that content; any number if the head is truncated. */
function contentLength(bytes: Buffer, at: number, start: number): number {
  const last = bytes[start - 1] ?? 0;
  if (start === at + 3) return ((bytes[at + 1] ?? 0) << 8) | last;
  if (start === at + 2) return last;
  return last < 0x80 ? 0 : last - FIXSTR;
}

function isTextAt(bytes: Buffer, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** ASCII without characters that are invalid in a file name, so that it needs no other check. */
function isPlainName(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] === 0x2e || start === end) return false; // '.' and '..' begin with a dot
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === 0 || byte === 0x2f || byte === 0x5c || byte > 0x7f) return false;
  }
  return true;
}
