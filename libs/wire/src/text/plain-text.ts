/** Longer foreign texts are cut. */
const TEXT_MAX = 200;

/** Characters that move the cursor, colour text, or change the writing direction. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text of a minion, a user or another host, safe for a terminal. */
export function plainText(text: string): string {
  return text.slice(0, TEXT_MAX).replace(UNSAFE, '?');
}

/** The whole text, with Python's escapes (`\x1b`, `\u202e`) for unsafe characters. */
export function visible(text: string): string {
  return text.replace(UNSAFE, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`;
  });
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
