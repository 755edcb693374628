/** Replaces characters that can not be stored: NUL, and halves of surrogate pairs. */
const REPLACEMENT = '\uFFFD';

const UNSTORABLE = /\0|\p{Surrogate}/gu;

/**
 * Text that every store, log and file accepts: PostgreSQL has no NUL, and UTF-8 has no half of a
 * surrogate pair. Both become U+FFFD. A text beyond `max` code points is cut, and ends with `…`.
 * Use only this function for recorded texts from outside.
 */
export function storableText(text: string, max = Infinity): string {
  const end = endOf(text, max);
  const kept = end < text.length ? `${text.slice(0, end)}…` : text;
  return kept.replace(UNSTORABLE, REPLACEMENT);
}

/** Where the first `max` code points end, in UTF-16 units. */
function endOf(text: string, max: number): number {
  // No text has more code points than units.
  if (text.length <= max) return text.length;
  let at = 0;
  for (let points = 0; points < max && at < text.length; points += 1) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return at;
}
