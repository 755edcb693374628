import { JinjaError } from './errors.ts';

/** Longest text or list that a template may make. */
export const MAX_LENGTH = 16_777_216;

/** Python's limit for reading integers from texts; it has none for bases that are powers of two. */
export const MAX_DIGITS = 4_300;
/** For these bases Python has no limit; results stay below 65,536 bits. */
export const MAX_POWER_DIGITS = 16_384;

/** Makes a value whose length is known before. @throws JinjaError (Limit) */
export function bounded<T>(length: number, make: () => T): T {
  if (length > MAX_LENGTH) throw new JinjaError('Limit', 'a value of the template grew too long');
  return make();
}

/** Joins texts. @throws JinjaError (Limit) */
export function joinBounded(parts: readonly string[], separator: string): string {
  const length = parts.reduce((total, part) => total + part.length, 0);
  return bounded(length + separator.length * parts.length, () => parts.join(separator));
}

/** Replaces each match in a text, one after another. */
export function replaceEach(
  text: string,
  expression: RegExp,
  make: (match: RegExpExecArray) => string,
): string {
  const parts: string[] = [];
  let from = 0;
  let length = text.length;
  for (const match of text.matchAll(expression)) {
    const part = make(match);
    length += part.length;
    bounded(length, () => parts.push(text.slice(from, match.index), part));
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts.join('');
}
