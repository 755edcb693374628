// A minion id is a file name in the key store; file systems end at 255 bytes.
const MAX_ID_BYTES = 255;

// Salt refuses `/`, `\` and NUL (salt/utils/verify.py valid_id). Here other control characters are
// refused too, and those that turn the direction of writing. No host name has them, and they would
// make one id look like another on terminals and in logs. A lone surrogate can not be written as
// UTF-8.
const REFUSED = /[/\\\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/u;

/**
 * The state of a minion's key, as `salt-key` names it. `deleted` is a value, so that a stale
 * replica cannot bring a key back.
 */
export type KeyState = 'accepted' | 'pending' | 'rejected' | 'deleted';

/** True for text that may name a minion. Safe as a file name. */
export function isMinionId(text: unknown): text is string {
  if (typeof text !== 'string' || text === '' || text === '.' || text === '..') return false;
  if (text.length > MAX_ID_BYTES || REFUSED.test(text)) return false;
  return Buffer.byteLength(text, 'utf8') <= MAX_ID_BYTES;
}

// Parts of a master read these names in different ways. Listings of keys leave out names with a dot
// (salt/key.py). Commands take a dash for an option, `*?[]` and commas for more than one id.
// Invisible characters, or two ways to write a letter, make two ids look like one.
const AMBIGUOUS = /^[.\- ]|[*?[\],]| $|(?! )[\p{Cc}\p{Cf}\p{Z}]/u;

/**
 * True for an id that may have a key here: every tool and command reads it as the same id. A minion
 * below a syndic may have any {@link isMinionId}.
 */
export function mayHaveKey(text: unknown): text is string {
  return isMinionId(text) && !AMBIGUOUS.test(text) && text.normalize('NFC') === text;
}

// Signs that a shell acts on, anywhere in an argument. Operators type, paste and complete lines
// with ids that strangers chose.
const OF_SHELLS = /[ !-$&-*,/;-?[-^`{-~]/g;

/**
 * True for an id under which a stranger may offer a key: every shell reads it as one plain
 * argument. An accepted minion may have any signs in its id.
 * @param further signs that are plain at this site (`brine.minion_id_signs`)
 */
export function mayBeOffered(id: string, further = ''): boolean {
  if (!mayHaveKey(id)) return false;
  return (id.match(OF_SHELLS) ?? []).every((sign) => further.includes(sign));
}
