const STAR = 0x2a;
const QUESTION = 0x3f;

/** True for an id that fits. */
export type IdTest = (id: string) => boolean;

/**
 * A part of an id, or with `*` and `?` a pattern for all of it; `?` is one letter. An id has no
 * brackets, so sets are not served. A fleet has 100,000 ids and a page 30 ms: `compileGlob` of
 * @brine/target, which also reads sets and counts steps, takes 500 ms for them.
 */
export function idTest(text: string): IdTest {
  if (!/[*?]/.test(text)) return (id) => id.includes(text);
  const pattern = text.replace(/\*{2,}/g, '*');
  return (id) => matches(pattern, id);
}

/** Returns to the last star alone: (length of id) × (length of pattern) steps at worst. */
function matches(pattern: string, id: string): boolean {
  let [at, token, starToken, starAt] = [0, 0, -1, 0];
  while (at < id.length) {
    const code = token < pattern.length ? pattern.charCodeAt(token) : -1;
    if (code === STAR) {
      starToken = token;
      starAt = at;
      token += 1;
    } else if (code === QUESTION) {
      token += 1;
      at += lengthAt(id, at);
    } else if (code === id.charCodeAt(at)) {
      token += 1;
      at += 1;
    } else if (starToken >= 0) {
      starAt += lengthAt(id, starAt);
      at = starAt;
      token = starToken + 1;
    } else {
      return false;
    }
  }
  while (pattern.charCodeAt(token) === STAR) token += 1;
  return token === pattern.length;
}

/** 2 for a letter of two halves. */
function lengthAt(id: string, at: number): number {
  return (id.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
