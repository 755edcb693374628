import { type Cursor, isBlank, isBlankOrEnd, isBreak, isBreakOrEnd } from './cursor.ts';

/** The position of a scalar. */
export interface ScalarPlace {
  /** Within brackets or braces. */
  readonly isInFlow: boolean;
  /** Column of the block around it; -1 at the top. */
  readonly indent: number;
}

/** A scalar as it was read. */
export interface ScannedScalar {
  readonly value: string;
  /** Offset behind its last character. */
  readonly end: number;
}

/** Breaks between two lines of a scalar, or the blanks that count if there is no break. */
class Gap {
  #blanks = '';
  #first = '';
  #more = '';
  hasBreak = false;

  /**
   * Skips all blanks and breaks.
   * @param hasBreak a break came before, and has no value
   * @param refuseTab called before a blank behind a break
   */
  static over(cursor: Cursor, hasBreak: boolean, refuseTab?: () => void): Gap {
    const gap = new Gap();
    gap.hasBreak = hasBreak;
    for (;;) {
      const code = cursor.code();
      if (isBlank(code)) {
        if (gap.hasBreak) refuseTab?.();
        else gap.#blanks += cursor.text.charAt(cursor.at);
        cursor.at += 1;
      } else if (!isBreak(code)) return gap;
      else if (gap.hasBreak) gap.#more += cursor.takeBreak();
      else {
        gap.#first = cursor.takeBreak();
        gap.hasBreak = true;
      }
    }
  }

  /** Value of the gap: one line end is a space, further ones are kept. */
  get folded(): string {
    if (!this.hasBreak) return this.#blanks;
    if (this.#first !== '\n') return this.#first + this.#more;
    return this.#more === '' ? ' ' : this.#more;
  }
}

/** Signs that end a plain scalar in brackets and braces. */
const FLOW_SIGNS = ',[]{}';
/** Signs that may not follow a `:` there. */
const AFTER_COLON = ',?[]{}';

/** Reads a scalar without quotes. `endsLine`: a line began behind it, so a key may follow. */
export function scanPlain(
  cursor: Cursor,
  { isInFlow, indent }: ScalarPlace,
): ScannedScalar & { readonly endsLine: boolean } {
  const from = cursor.at;
  const context = 'while scanning a plain scalar';
  let value = '';
  let end = cursor.at;
  let gap: Gap | undefined;
  const refuseTab = (): void => {
    if (cursor.column <= indent && cursor.is('\t')) {
      cursor.fail('scanner', context, from, 'found a tab character that violates indentation');
    }
  };
  while (!cursor.isAtDocumentSign && !cursor.is('#')) {
    const begin = cursor.at;
    for (let code = cursor.code(); !isBlankOrEnd(code); code = cursor.code()) {
      const sign = code < 0x80 ? cursor.text.charAt(cursor.at) : '';
      if (sign === ':') {
        if (isInFlow && AFTER_COLON.includes(cursor.text.charAt(cursor.at + 1) || ' ')) {
          cursor.fail('scanner', context, from, "found unexpected ':'");
        }
        if (isBlankOrEnd(cursor.code(1))) break;
      }
      if (isInFlow && sign !== '' && FLOW_SIGNS.includes(sign)) break;
      cursor.skip();
    }
    if (cursor.at > begin) {
      value += (gap?.folded ?? '') + cursor.text.slice(begin, cursor.at);
      gap = undefined;
      end = cursor.at;
    }
    const code = cursor.code();
    if (!isBlank(code) && !isBreak(code)) break;
    gap = Gap.over(cursor, false, refuseTab);
    if (!isInFlow && cursor.column <= indent) break;
  }
  return { value, end, endsLine: gap?.hasBreak ?? false };
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['0', '\0'],
  ['a', '\x07'],
  ['b', '\b'],
  ['t', '\t'],
  ['\t', '\t'],
  ['n', '\n'],
  ['v', '\v'],
  ['f', '\f'],
  ['r', '\r'],
  ['e', '\x1b'],
  [' ', ' '],
  ['"', '"'],
  ['/', '/'],
  ['\\', '\\'],
  ['N', '\x85'],
  ['_', '\xa0'],
  ['L', '\u2028'],
  ['P', '\u2029'],
]);
/** Digits of a character's number, by the sign in front of them. */
const NUMBERED: ReadonlyMap<string, number> = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
]);

/** Reads a scalar in quotes; the cursor is at the first quote. */
export function scanQuoted(cursor: Cursor, quote: "'" | '"'): ScannedScalar {
  const from = cursor.at;
  const context = 'while scanning a quoted scalar';
  cursor.skip();
  let value = '';
  for (;;) {
    if (cursor.isAtDocumentSign) {
      cursor.fail('scanner', context, from, 'found unexpected document indicator');
    }
    if (Number.isNaN(cursor.code())) {
      cursor.fail('scanner', context, from, 'found unexpected end of stream');
    }
    const { text, isCut } = quote === "'" ? singleRun(cursor) : doubleRun(cursor, from);
    value += text;
    if (cursor.is(quote)) {
      cursor.skip();
      return { value, end: cursor.at };
    }
    value += Gap.over(cursor, isCut).folded;
  }
}

/** Characters up to a blank, a break or the quote. */
function singleRun(cursor: Cursor): { readonly text: string; readonly isCut: false } {
  let text = '';
  let begin = cursor.at;
  while (!isBlankOrEnd(cursor.code())) {
    if (!cursor.is("'")) cursor.skip();
    else if (cursor.is("'", 1)) {
      text += cursor.text.slice(begin, cursor.at + 1);
      cursor.at += 2;
      begin = cursor.at;
    } else break;
  }
  return { text: text + cursor.text.slice(begin, cursor.at), isCut: false };
}

/** The same between double quotes. `isCut`: it ends with a line break that is escaped. */
function doubleRun(
  cursor: Cursor,
  from: number,
): { readonly text: string; readonly isCut: boolean } {
  let text = '';
  let begin = cursor.at;
  while (!isBlankOrEnd(cursor.code()) && !cursor.is('"')) {
    if (!cursor.is('\\')) {
      cursor.skip();
      continue;
    }
    text += cursor.text.slice(begin, cursor.at);
    if (isBreak(cursor.code(1))) {
      cursor.skip();
      cursor.takeBreak();
      return { text, isCut: true };
    }
    text += escaped(cursor, from);
    begin = cursor.at;
  }
  return { text: text + cursor.text.slice(begin, cursor.at), isCut: false };
}

function escaped(cursor: Cursor, from: number): string {
  const context = 'while parsing a quoted scalar';
  const sign = cursor.text.charAt(cursor.at + 1);
  const digits = NUMBERED.get(sign);
  if (digits === undefined) {
    const text = ESCAPES.get(sign);
    if (text === undefined) {
      cursor.fail('scanner', context, from, 'found unknown escape character');
    }
    cursor.at += 2;
    return text;
  }
  cursor.at += 2;
  const hex = cursor.text.slice(cursor.at, cursor.at + digits);
  if (hex.length < digits || !/^[0-9A-Fa-f]+$/.test(hex)) {
    cursor.fail('scanner', context, from, 'did not find expected hexdecimal number');
  }
  const code = Number.parseInt(hex, 16);
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
    cursor.fail('scanner', context, from, 'found invalid Unicode character escape code');
  }
  cursor.at += digits;
  return String.fromCodePoint(code);
}

/** Reads a literal or folded scalar; the cursor is at the `|` or `>`. */
export function scanBlock(
  cursor: Cursor,
  style: 'literal' | 'folded',
  above: number,
): ScannedScalar {
  const from = cursor.at;
  cursor.skip();
  const { keep, indent: given } = blockHeader(cursor, from);
  let { indent, breaks, end } = leadingBreaks(
    cursor,
    given === 0 ? 0 : Math.max(above, 0) + given,
    { from, above },
  );
  let value = '';
  let lineEnd = '';
  let wasBlank = false;
  while (cursor.column === indent && !Number.isNaN(cursor.code())) {
    const beginsBlank = isBlank(cursor.code());
    const folds = style === 'folded' && lineEnd === '\n' && !wasBlank && !beginsBlank;
    if (!folds) value += lineEnd;
    else if (breaks === '') value += ' ';
    value += breaks;
    wasBlank = beginsBlank;
    const begin = cursor.at;
    while (!isBreakOrEnd(cursor.code())) cursor.skip();
    value += cursor.text.slice(begin, cursor.at);
    lineEnd = cursor.takeBreak();
    ({ indent, breaks, end } = leadingBreaks(cursor, indent, { from, above }));
  }
  if (keep !== 'none') value += lineEnd;
  if (keep === 'all') value += breaks;
  return { value, end };
}

/** Reads the header of a block scalar: how breaks at its end count, and its column. */
function blockHeader(
  cursor: Cursor,
  from: number,
): { readonly keep: 'none' | 'one' | 'all'; readonly indent: number } {
  const context = 'while scanning a block scalar';
  const chomp = (): 'none' | 'one' | 'all' => {
    if (!cursor.is('+') && !cursor.is('-')) return 'one';
    const keep = cursor.is('+') ? 'all' : 'none';
    cursor.skip();
    return keep;
  };
  const digit = (): number => {
    if (!/^\d$/.test(cursor.text.charAt(cursor.at))) return 0;
    if (cursor.is('0')) {
      cursor.fail('scanner', context, from, 'found an indentation indicator equal to 0');
    }
    const value = Number(cursor.text.charAt(cursor.at));
    cursor.skip();
    return value;
  };
  let keep = chomp();
  const indent = digit();
  if (keep === 'one' && indent !== 0) keep = chomp();
  cursor.skipBlanks();
  cursor.skipComment();
  if (!isBreakOrEnd(cursor.code())) {
    cursor.fail('scanner', context, from, 'did not find expected comment or line break');
  }
  cursor.takeBreak();
  return { keep, indent };
}

/**
 * Skips empty lines, and the indentation of the next other line.
 * @param indent 0 if the first line that is not empty decides it
 */
function leadingBreaks(
  cursor: Cursor,
  indent: number,
  { from, above }: { readonly from: number; readonly above: number },
): { readonly indent: number; readonly breaks: string; readonly end: number } {
  let breaks = '';
  let deepest = 0;
  let end = cursor.at;
  const isWithin = (): boolean => indent === 0 || cursor.column < indent;
  for (;;) {
    while (isWithin() && cursor.is(' ')) cursor.at += 1;
    deepest = Math.max(deepest, cursor.column);
    if (isWithin() && cursor.is('\t')) {
      const problem = 'found a tab character where an indentation space is expected';
      cursor.fail('scanner', 'while scanning a block scalar', from, problem);
    }
    if (!isBreak(cursor.code())) break;
    breaks += cursor.takeBreak();
    end = cursor.at;
  }
  return { indent: indent === 0 ? Math.max(deepest, above + 1, 1) : indent, breaks, end };
}
