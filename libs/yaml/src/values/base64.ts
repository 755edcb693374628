/** Characters of base64; Python skips all others. */
const DIGIT = /[A-Za-z0-9+/=]/g;

/**
 * The bytes of a text in base64, or what is wrong with it. Padding may be missing
 * (Salt: salt/utils/yamlloader.py construct_yaml_binary).
 */
export function bytesOfBase64(text: string): Uint8Array | string {
  const other = /[^\x00-\x7f]+/u.exec(text);
  if (other !== null) return notAscii(Array.from(other[0]), other.index);
  const missing = text.length % 4;
  return decoded(missing === 0 ? text : text + '='.repeat(4 - missing));
}

function notAscii(signs: readonly string[], at: number): string {
  const code = (signs[0]?.codePointAt(0) ?? 0).toString(16);
  const width = code.length > 4 ? 8 : code.length > 2 ? 4 : 2;
  const escape = `\\${{ 2: 'x', 4: 'u', 8: 'U' }[width]}${code.padStart(width, '0')}`;
  const where =
    signs.length === 1
      ? `character '${escape}' in position ${at}`
      : `characters in position ${at}-${at + signs.length - 1}`;
  const codec = `'ascii' codec can't encode ${where}: ordinal not in range(128)`;
  return `failed to convert base64 data into ascii: ${codec}`;
}

/** As CPython's binascii.a2b_base64, which is not strict. */
function decoded(text: string): Uint8Array | string {
  let digits = '';
  let pads = 0;
  for (const sign of text.matchAll(DIGIT)) {
    const inGroup = digits.length % 4;
    if (sign[0] !== '=') {
      pads = 0;
      digits += sign[0];
    } else if (inGroup >= 2) {
      pads += 1;
      if (inGroup + pads >= 4) return bytesOf(digits);
    }
  }
  if (digits.length % 4 === 0) return bytesOf(digits);
  if (digits.length % 4 !== 1) return 'failed to decode base64 data: Incorrect padding';
  const count = `number of data characters (${digits.length})`;
  const why = `${count} cannot be 1 more than a multiple of 4`;
  return `failed to decode base64 data: Invalid base64-encoded string: ${why}`;
}

function bytesOf(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits, 'base64'));
}
