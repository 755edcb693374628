import { faultError, type Mark, type YamlFault, YamlLoadError } from '../errors.ts';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const NEL = 0x85;
const LINE_SEPARATOR = 0x2028;
const PARAGRAPH_SEPARATOR = 0x2029;
const BOM = 0xfeff;

/** PyYAML's name for a text that is not a file. */
const TEXT = '<unicode string>';

/** Characters that YAML refuses (libyaml: src/reader.c), with lone surrogates. */
const FORBIDDEN = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/** True for a line break, as YAML 1.1 has them. */
export function isBreak(code: number): boolean {
  if (code > CR && code < NEL) return false;
  return (
    code === LF ||
    code === CR ||
    code === NEL ||
    code === LINE_SEPARATOR ||
    code === PARAGRAPH_SEPARATOR
  );
}

/** True for a space or a tab. */
export function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** True for a line break and for the end of the text. */
export function isBreakOrEnd(code: number): boolean {
  return isBreak(code) || Number.isNaN(code);
}

/** True for a space, a tab, a line break, and for the end of the text. */
export function isBlankOrEnd(code: number): boolean {
  return isBlank(code) || isBreakOrEnd(code);
}

/** A text and the read position. Positions are offsets; only errors convert them to marks. */
export class Cursor {
  readonly text: string;
  /** Name of the text in errors. */
  readonly name: string;
  /** Offset of the next character, in UTF-16 units. */
  at = 0;
  line = 0;
  /** Characters of two units so far: a column counts them as one. */
  #pairs = 0;
  #lineStart = 0;

  /** @param text as {@link readable} gives it */
  constructor(text: string, name = TEXT) {
    this.text = text;
    this.name = name;
  }

  /** Characters in front of the next one, line breaks counted. */
  get index(): number {
    return this.at - this.#pairs;
  }

  get column(): number {
    return this.index - this.#lineStart;
  }

  /** The code of the next character, or of one behind it; NaN at the end of the text. */
  code(offset = 0): number {
    return this.text.charCodeAt(this.at + offset);
  }

  /** True where the next character is this one of ASCII. */
  is(sign: string, offset = 0): boolean {
    return this.text[this.at + offset] === sign;
  }

  /** True if a line begins here with `---` or `...` alone. */
  get isAtDocumentSign(): boolean {
    if (this.column !== 0) return false;
    const sign = this.text.slice(this.at, this.at + 3);
    return (sign === '---' || sign === '...') && isBlankOrEnd(this.code(3));
  }

  /** Skips one character that is not a line break. */
  skip(): void {
    const code = this.code();
    if (code >= 0xd800 && code <= 0xdbff) {
      this.#pairs += 1;
      this.at += 1;
    }
    this.at += 1;
  }

  skipBlanks(): void {
    while (isBlank(this.code())) this.at += 1;
  }

  /** Skips a comment up to the end of the line. */
  skipComment(): void {
    if (this.is('#')) while (!isBreakOrEnd(this.code())) this.skip();
  }

  /** Skips a line break, if present; returns its value in a scalar. */
  takeBreak(): string {
    const code = this.code();
    if (!isBreak(code)) return '';
    this.at += code === CR && this.code(1) === LF ? 2 : 1;
    this.line += 1;
    this.#lineStart = this.index;
    return code === LINE_SEPARATOR || code === PARAGRAPH_SEPARATOR
      ? String.fromCharCode(code)
      : '\n';
  }

  /** The end of a text ends its last line. */
  endLine(): void {
    if (this.column === 0) return;
    this.at += 1;
    this.line += 1;
    this.#lineStart = this.index;
  }

  /** Throws an error: `context` began at the offset `from`. */
  fail(kind: YamlFault['kind'], context: string | undefined, from: number, problem: string): never {
    throw this.faultAt({ kind, context, from, problem, at: this.at });
  }

  /** An error at the offset `at`. */
  faultAt(fault: {
    readonly kind: YamlFault['kind'];
    readonly context?: string | undefined;
    readonly from?: number;
    readonly problem: string;
    readonly at: number;
  }): YamlLoadError {
    const { kind, context, from, problem, at } = fault;
    return faultError({
      name: this.name,
      kind,
      problem,
      mark: this.markOf(at),
      ...(context === undefined ? {} : { context }),
      ...(context === undefined || from === undefined ? {} : { contextMark: this.markOf(from) }),
    });
  }

  /** The mark of an offset that the cursor has been at. */
  markOf(at: number): Mark {
    const before = new Cursor(this.text);
    while (before.at < at) {
      if (Number.isNaN(before.code())) before.endLine();
      else if (before.takeBreak() === '') before.skip();
    }
    return { index: before.index, line: before.line, column: before.column };
  }
}

/**
 * Returns the text without its byte order mark.
 * @throws YamlLoadError for characters that YAML refuses; its text counts bytes, as PyYAML's does
 */
export function readable(given: string, name = TEXT): string {
  const text = given.charCodeAt(0) === BOM ? given.slice(1) : given;
  if (!FORBIDDEN.test(text)) return text;
  const at = given.search(FORBIDDEN);
  const code = (given.codePointAt(at) ?? 0).toString(16).padStart(4, '0');
  const position = Buffer.byteLength(given.slice(0, at));
  const problem = 'control characters are not allowed';
  throw new YamlLoadError(
    `unacceptable character #x${code}: ${problem}\n  in "${name}", position ${position}`,
    { fault: { name, kind: 'reader', problem } },
  );
}
