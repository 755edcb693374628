import type { TextTest } from './python-regex/compile.ts';
import { Work } from './work.ts';

type Token =
  | { readonly kind: 'char'; readonly code: number }
  | { readonly kind: 'any' }
  | { readonly kind: 'star' }
  | { readonly kind: 'set'; readonly negated: boolean; readonly ranges: readonly Range[] };
type Range = readonly [from: number, to: number];

/**
 * Compiles a shell glob with the meaning of Python's `fnmatch.fnmatchcase`: `*`, `?`, `[set]`,
 * `[!set]`; case counts; `*` also takes `/` and line feeds; no escapes. Any text is a glob.
 * @throws WorkError by the test, which takes (length of glob) × (length of text) steps at worst
 */
export function compileGlob(pattern: string): TextTest {
  if (isExact(pattern)) return (text) => text === pattern;
  if (pattern === '*') return () => true;
  if (!/[?[]/.test(pattern)) return compileStars(pattern);
  const tokens = parseGlob(Array.from(pattern, (char) => char.codePointAt(0) ?? 0));
  return (text, work = Work.ofText(text.length)) => {
    work.spend(text.length >> 2);
    return matchTokens(tokens, codePoints(text), work);
  };
}

/** True for a glob that matches itself alone. */
export function isExact(pattern: string): boolean {
  return !/[*?[]/.test(pattern);
}

/** True where `text` as a whole matches the glob. @throws WorkError. */
export function matchGlob(pattern: string, text: string, work?: Work): boolean {
  return compileGlob(pattern)(text, work);
}

/** Most globs have only stars: their pieces are searched from left to right. */
function compileStars(pattern: string): TextTest {
  const pieces = pattern.split('*');
  const first = pieces[0] ?? '';
  const last = pieces.at(-1) ?? '';
  const between = pieces.slice(1, -1).filter((piece) => piece !== '');
  const longest = between.reduce((most, piece) => Math.max(most, piece.length), 0);
  return (text, work = Work.ofText(text.length)) => {
    // The search compares letter by letter, at worst again from each place.
    work.spend(1 + between.length + ((text.length * longest) >> 5));
    if (!text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const piece of between) {
      const found = text.indexOf(piece, at);
      if (found < 0) return false;
      at = found + piece.length;
    }
    return at <= text.length - last.length;
  };
}

const BRACKET = 0x5b;
const CLOSE = 0x5d;
const BANG = 0x21;
const STAR = 0x2a;
const QUESTION = 0x3f;
const DASH = 0x2d;

function parseGlob(codes: readonly number[]): Token[] {
  const tokens: Token[] = [];
  const lastClose = codes.lastIndexOf(CLOSE);
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    const end = code === BRACKET && i < lastClose ? setEnd(codes, i + 1) : -1;
    if (end >= 0) {
      tokens.push(parseSet(codes.slice(i + 1, end)));
      i = end;
    } else if (code === STAR) {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else {
      tokens.push(code === QUESTION ? { kind: 'any' } : { kind: 'char', code });
    }
  }
  return tokens;
}

/** Index of the closing bracket; -1 without one, when the opening bracket is literal. */
function setEnd(codes: readonly number[], start: number): number {
  let at = start;
  if (codes[at] === BANG) at += 1;
  if (codes[at] === CLOSE) at += 1;
  return codes.indexOf(CLOSE, at);
}

function parseSet(codes: readonly number[]): Token {
  const negated = codes[0] === BANG;
  const body = negated ? codes.slice(1) : codes;
  const ranges: Range[] = [];
  for (let i = 0; i < body.length; i += 1) {
    const from = body[i] ?? 0;
    const to = body[i + 2];
    if (body[i + 1] === DASH && to !== undefined) {
      ranges.push([from, to]); // empty where from > to, as in Python since 3.9
      i += 2;
    } else {
      ranges.push([from, from]);
    }
  }
  return { kind: 'set', negated, ranges };
}

function codePoints(text: string): ArrayLike<number> {
  const codes = new Uint32Array(text.length);
  let length = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.codePointAt(i) ?? 0;
    if (code > 0xffff) i += 1;
    codes[length] = code;
    length += 1;
  }
  return codes.subarray(0, length);
}

/** Backtracks only to the last star: everything before it is settled. */
function matchTokens(tokens: readonly Token[], codes: ArrayLike<number>, work: Work): boolean {
  let at = 0;
  let token = 0;
  let starToken = -1;
  let starAt = 0;
  while (at < codes.length) {
    const current = tokens[token];
    work.spend(current?.kind === 'set' ? 1 + current.ranges.length : 1);
    if (current?.kind === 'star') {
      starToken = token;
      starAt = at;
      token += 1;
    } else if (current !== undefined && matchesOne(current, codes[at] ?? 0)) {
      token += 1;
      at += 1;
    } else if (starToken >= 0) {
      starAt += 1;
      at = starAt;
      token = starToken + 1;
    } else {
      return false;
    }
  }
  while (tokens[token]?.kind === 'star') token += 1;
  return token === tokens.length;
}

function matchesOne(token: Token, code: number): boolean {
  if (token.kind === 'char') return token.code === code;
  if (token.kind !== 'set') return true;
  return token.negated !== token.ranges.some(([from, to]) => from <= code && code <= to);
}
