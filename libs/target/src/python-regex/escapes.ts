import type { ClassName } from './ast.ts';
import { RegexError } from './ast.ts';
import type { Reader } from './reader.ts';

const CONTROL: ReadonlyMap<string, number> = new Map([
  ['a', 7],
  ['f', 12],
  ['n', 10],
  ['r', 13],
  ['t', 9],
  ['v', 11],
]);
const HEX_DIGITS: ReadonlyMap<string, number> = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
]);
const MAX_CODE_POINT = 0x10ffff;
const MAX_OCTAL = 0o377;

/** True for the letters of `\d \D \w \W \s \S`. */
export function isClassName(letter: string): letter is ClassName {
  return letter.length === 1 && 'dDwWsS'.includes(letter);
}

/**
 * The character behind a backslash and `letter`, for the escapes that mean the same in and out
 * of a set; undefined for digits, which do not.
 * @throws RegexError for letters without a meaning, as Python does.
 */
export function escapedCode(letter: string, reader: Reader): number | undefined {
  const control = CONTROL.get(letter);
  if (control !== undefined) return control;
  const digits = HEX_DIGITS.get(letter);
  if (digits !== undefined) return hexCode(reader, digits);
  if (/[0-9]/.test(letter)) return undefined;
  if (/[A-Za-z]/.test(letter)) throw new RegexError(`bad escape \\${letter}`);
  return letter.codePointAt(0);
}

function hexCode(reader: Reader, digits: number): number {
  const text = reader.while(/[0-9A-Fa-f]/, digits);
  const code = Number.parseInt(text, 16);
  if (text.length !== digits || code > MAX_CODE_POINT) throw new RegexError('bad hex escape');
  return code;
}

/** Reads the rest of an octal escape that began with `first`; `more` further digits at most. */
export function octalCode(first: string, reader: Reader, more: number): number {
  const code = Number.parseInt(first + reader.while(/[0-7]/, more), 8);
  if (Number.isNaN(code) || code > MAX_OCTAL) throw new RegexError('octal escape out of range');
  return code;
}
