import { syntaxError } from '../errors.ts';

const ESCAPE =
  /\\(?:\n|([\\'"abfnrtv])|([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/g;
const BROKEN = /(?:^|[^\\])(?:\\\\)*\\(x(?![\da-fA-F]{2})|u(?![\da-fA-F]{4})|U(?![\da-fA-F]{8}))/;
const SHORT: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/**
 * The text of a Python string literal; unknown escapes stay, as in Python's codec `unicode-escape`.
 * `line` is for the error.
 * @throws JinjaError (Syntax) for an incomplete escape
 */
export function unescapeText(body: string, line: number): string {
  if (!body.includes('\\')) return body;
  const broken = BROKEN.exec(body)?.[1];
  if (broken !== undefined) {
    const width = { x: 'XX', u: 'XXXX', U: 'XXXXXXXX' }[broken] ?? '';
    throw syntaxError(`truncated \\${broken}${width} escape`, line);
  }
  return body.replaceAll(
    ESCAPE,
    (
      whole: string,
      short: string | undefined,
      octal: string | undefined,
      ...hex: readonly (string | undefined)[]
    ) => {
      if (short !== undefined) return SHORT[short] ?? whole;
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      const digits = hex.slice(0, 3).find((part) => part !== undefined);
      return digits === undefined ? '' : String.fromCodePoint(Number.parseInt(digits, 16));
    },
  );
}
