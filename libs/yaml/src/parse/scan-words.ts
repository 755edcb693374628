import { type Cursor, isBlank, isBlankOrEnd, isBreakOrEnd } from './cursor.ts';
import type { Token } from './tokens.ts';

/** Letters of names: of anchors, of handles, of directives. */
function isNameSign(sign: string): boolean {
  return /^[0-9A-Za-z_-]$/.test(sign);
}

function nameAt(cursor: Cursor): string {
  const begin = cursor.at;
  while (isNameSign(cursor.text.charAt(cursor.at))) cursor.at += 1;
  return cursor.text.slice(begin, cursor.at);
}

/** Signs that may stand directly behind the name of an anchor or an alias. */
const AFTER_ANCHOR = '?:,]}%@`';

/** Reads `&name` or `*name`. */
export function scanAnchor(cursor: Cursor, kind: 'anchor' | 'alias'): Token {
  const start = cursor.at;
  cursor.skip();
  const name = nameAt(cursor);
  const after = cursor.text.charAt(cursor.at);
  if (name === '' || !(isBlankOrEnd(cursor.code()) || AFTER_ANCHOR.includes(after))) {
    const context = `while scanning an ${kind}`;
    const problem = 'did not find expected alphabetic or numeric character';
    cursor.fail('scanner', context, start, problem);
  }
  return { kind, name, start, end: cursor.at };
}

/** Reads `!suffix`, `!handle!suffix` or `!<whole>`. */
export function scanTag(cursor: Cursor, isInFlow: boolean): Token {
  const start = cursor.at;
  const context = 'while scanning a tag';
  const { handle, suffix } = cursor.is('<', 1) ? wholeTag(cursor, start) : shortTag(cursor, start);
  if (!isBlankOrEnd(cursor.code()) && !(isInFlow && cursor.is(','))) {
    cursor.fail('scanner', context, start, 'did not find expected whitespace or line break');
  }
  return { kind: 'tag', handle, suffix, start, end: cursor.at };
}

interface Tag {
  readonly handle: string;
  readonly suffix: string;
}

function wholeTag(cursor: Cursor, start: number): Tag {
  cursor.at += 2;
  const suffix = scanUri(cursor, { start, isDirective: false, isWhole: true, head: '' });
  if (!cursor.is('>')) {
    cursor.fail('scanner', 'while scanning a tag', start, "did not find the expected '>'");
  }
  cursor.skip();
  return { handle: '', suffix };
}

function shortTag(cursor: Cursor, start: number): Tag {
  const found = scanHandle(cursor, start, false);
  const uri = { start, isDirective: false, isWhole: false };
  if (found.length > 1 && found.endsWith('!')) {
    return { handle: found, suffix: scanUri(cursor, { ...uri, head: '' }) };
  }
  // Not a handle, but the beginning of the suffix.
  const suffix = scanUri(cursor, { ...uri, head: found });
  return suffix === '' ? { handle: '', suffix: '!' } : { handle: '!', suffix };
}

function scanHandle(cursor: Cursor, start: number, isDirective: boolean): string {
  const problem = "did not find expected '!'";
  if (!cursor.is('!')) {
    const context = isDirective ? 'while scanning a tag directive' : 'while scanning a tag';
    cursor.fail('scanner', context, start, problem);
  }
  cursor.skip();
  const name = nameAt(cursor);
  if (cursor.is('!')) {
    cursor.skip();
    return `!${name}!`;
  }
  if (isDirective && name !== '') {
    cursor.fail('scanner', 'while parsing a tag directive', start, problem);
  }
  return `!${name}`;
}

/** Signs of a URI beside letters, and those that only a tag in `!<…>` may have. */
const URI_SIGNS = ";/?:@&=+$.%!~*'()";
const WHOLE_SIGNS = ',[]';

interface Uri {
  readonly start: number;
  readonly isDirective: boolean;
  readonly isWhole: boolean;
  /** The part that was read as a handle, without its `!`. */
  readonly head: string;
}

function scanUri(cursor: Cursor, { start, isDirective, isWhole, head }: Uri): string {
  const context = isDirective ? 'while parsing a %TAG directive' : 'while parsing a tag';
  let uri = head.slice(1);
  let signs = head.length;
  for (;;) {
    const sign = cursor.text.charAt(cursor.at);
    const isOne = sign !== '' && (isNameSign(sign) || URI_SIGNS.includes(sign));
    if (!isOne && !(isWhole && sign !== '' && WHOLE_SIGNS.includes(sign))) break;
    if (sign === '%') uri += unescaped(cursor, start, context);
    else {
      uri += sign;
      cursor.at += 1;
    }
    signs += 1;
  }
  if (signs === 0) cursor.fail('scanner', context, start, 'did not find expected tag URI');
  return uri;
}

/** Bytes of one character, by the first of them (UTF-8). */
function bytesOf(first: number): number {
  if (first < 0x80) return 1;
  if ((first & 0xe0) === 0xc0) return 2;
  if ((first & 0xf0) === 0xe0) return 3;
  return (first & 0xf8) === 0xf0 ? 4 : 0;
}

/** One character that is written in `%` and digits. */
function unescaped(cursor: Cursor, start: number, context: string): string {
  const bytes: number[] = [];
  let left = 1;
  for (; left > 0; left -= 1) {
    const digits = /^%([0-9A-Fa-f]{2})/.exec(cursor.text.slice(cursor.at, cursor.at + 3))?.[1];
    if (digits === undefined) {
      cursor.fail('scanner', context, start, 'did not find URI escaped octet');
    }
    const byte = Number.parseInt(digits, 16);
    if (bytes.length === 0) {
      left = bytesOf(byte);
      if (left === 0) {
        cursor.fail('scanner', context, start, 'found an incorrect leading UTF-8 octet');
      }
    } else if ((byte & 0xc0) !== 0x80) {
      cursor.fail('scanner', context, start, 'found an incorrect trailing UTF-8 octet');
    }
    bytes.push(byte);
    cursor.at += 3;
  }
  return Buffer.from(bytes).toString('utf8');
}

/** Reads a line that begins with `%`. */
export function scanDirective(cursor: Cursor): Token {
  const start = cursor.at;
  const context = 'while scanning a directive';
  cursor.skip();
  const name = nameAt(cursor);
  if (name === '') {
    cursor.fail('scanner', context, start, 'could not find expected directive name');
  }
  if (!isBlankOrEnd(cursor.code())) {
    cursor.fail('scanner', context, start, 'found unexpected non-alphabetical character');
  }
  if (name !== 'YAML' && name !== 'TAG') {
    cursor.fail('scanner', context, start, 'found unknown directive name');
  }
  const token = name === 'YAML' ? versionDirective(cursor, start) : tagDirective(cursor, start);
  cursor.skipBlanks();
  cursor.skipComment();
  if (!isBreakOrEnd(cursor.code())) {
    cursor.fail('scanner', context, start, 'did not find expected comment or line break');
  }
  cursor.takeBreak();
  return token;
}

/** Digits of a version that are read (libyaml: MAX_NUMBER_LENGTH). */
const VERSION_DIGITS_MAX = 9;

function versionDirective(cursor: Cursor, start: number): Token {
  const context = 'while scanning a %YAML directive';
  const number = (): number => {
    const begin = cursor.at;
    while (/^\d$/.test(cursor.text.charAt(cursor.at))) {
      if (cursor.at - begin === VERSION_DIGITS_MAX) {
        cursor.fail('scanner', context, start, 'found extremely long version number');
      }
      cursor.at += 1;
    }
    if (cursor.at === begin) {
      cursor.fail('scanner', context, start, 'did not find expected version number');
    }
    return Number(cursor.text.slice(begin, cursor.at));
  };
  cursor.skipBlanks();
  const major = number();
  if (!cursor.is('.')) {
    cursor.fail('scanner', context, start, "did not find expected digit or '.' character");
  }
  cursor.skip();
  return { kind: 'version', major, minor: number(), start, end: cursor.at };
}

function tagDirective(cursor: Cursor, start: number): Token {
  const context = 'while scanning a %TAG directive';
  cursor.skipBlanks();
  const handle = scanHandle(cursor, start, true);
  if (!isBlank(cursor.code())) {
    cursor.fail('scanner', context, start, 'did not find expected whitespace');
  }
  cursor.skipBlanks();
  const prefix = scanUri(cursor, { start, isDirective: true, isWhole: true, head: '' });
  if (!isBlankOrEnd(cursor.code())) {
    cursor.fail('scanner', context, start, 'did not find expected whitespace or line break');
  }
  return { kind: 'tag directive', handle, prefix, start, end: cursor.at };
}
