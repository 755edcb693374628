import type { Place } from './ast.ts';
import { type CharSet, isWord } from './char-set.ts';
import { lowerOf } from './fold.ts';

const NEWLINE = 10;

/** UTF-16 units of the character here if the set contains it, else 0. */
export function widthIn(set: CharSet, text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) return set.ascii[unit] as number;
  if (!(unit >= 0x80)) return 0; // the end
  if (unit < 0xd800 || unit > 0xdbff) return set.wide(unit) ? 1 : 0;
  const code = text.codePointAt(at) ?? unit;
  return set.wide(code) ? widthOfCode(code) : 0;
}

function widthOfCode(code: number): number {
  return code > 0xffff ? 2 : 1;
}

/** The end of a stretch of up to `count` characters of a set. */
export function longest(set: CharSet, text: string, from: number, count: number): number {
  const { ascii } = set;
  let at = from;
  for (let left = count; left > 0; left -= 1) {
    // Beyond ASCII, and at the end, there is nothing in the table.
    const width = ascii[text.charCodeAt(at)] ?? widthIn(set, text, at);
    if (width === 0) return at;
    at += width;
  }
  return at;
}

/** The start of the character before this place. */
export function before(text: string, at: number): number {
  const low = text.charCodeAt(at - 1);
  if (low < 0xdc00 || low > 0xdfff || at < 2) return at - 1;
  const high = text.charCodeAt(at - 2);
  return high >= 0xd800 && high <= 0xdbff ? at - 2 : at - 1;
}

/** The place a number of characters before this one; -1 before the start of the text. */
export function backFrom(text: string, from: number, characters: number): number {
  let at = from;
  for (let i = 0; i < characters; i += 1) {
    if (at <= 0) return -1;
    at = before(text, at);
  }
  return at;
}

/** True if an assertion is true at a place. */
export function isAt(place: Place, text: string, at: number): boolean {
  const { length } = text;
  switch (place) {
    case 'start':
      return at === 0;
    case 'line-start':
      return at === 0 || text.charCodeAt(at - 1) === NEWLINE;
    case 'end':
      return at === length || (at === length - 1 && text.charCodeAt(at) === NEWLINE);
    case 'line-end':
      return at === length || text.charCodeAt(at) === NEWLINE;
    case 'text-end':
      return at === length;
    case 'word':
      return isBoundary(text, at, false);
    case 'not-word':
      return length > 0 && !isBoundary(text, at, false);
    case 'ascii-word':
      return isBoundary(text, at, true);
    case 'not-ascii-word':
      return length > 0 && !isBoundary(text, at, true);
  }
}

function isBoundary(text: string, at: number, ascii: boolean): boolean {
  const left = at > 0 && isWord(text.codePointAt(before(text, at)) ?? 0, ascii);
  const right = at < text.length && isWord(text.codePointAt(at) ?? 0, ascii);
  return left !== right;
}

/** Length of `taken` if it occurs here, else -1. */
export function repeated(taken: string, text: string, at: number, ignoreCase: boolean): number {
  if (!ignoreCase) return text.startsWith(taken, at) ? taken.length : -1;
  const here = text.slice(at, at + taken.length);
  const same = Array.from(here, lowered).join() === Array.from(taken, lowered).join();
  return same ? taken.length : -1;
}

function lowered(character: string): number {
  return lowerOf(character.codePointAt(0) ?? 0);
}
