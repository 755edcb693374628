import type { Expression } from './ast.ts';
import { RegexError } from './ast.ts';

const ESCAPE = /\\(?:g<([^>]*)>|(0[0-7]{0,2}|[0-7]{3})|([1-9]\d?)|([^]?))/gu;
const LETTERS: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};
const MAX_OCTAL = 0o377;

/**
 * The replacement of `re.sub`: texts, and numbers of groups (Python: re/_parser.py parse_template).
 * @throws RegexError for an invalid template
 */
export function parseTemplate(
  template: string,
  expression: Expression,
): readonly (string | number)[] {
  const parts: (string | number)[] = [];
  let at = 0;
  for (const match of template.matchAll(ESCAPE)) {
    const [whole, name, octal, digits, letter = ''] = match;
    parts.push(template.slice(at, match.index));
    at = match.index + whole.length;
    if (name !== undefined) parts.push(groupOf(name, expression));
    else if (digits !== undefined) parts.push(groupOf(digits, expression));
    else parts.push(octal === undefined ? letterOf(letter) : octalOf(octal));
  }
  parts.push(template.slice(at));
  return parts.filter((part) => part !== '');
}

function groupOf(name: string, { groups, names }: Expression): number {
  const group = /^\d+$/.test(name) ? Number(name) : names.get(name);
  if (group === undefined) throw new RegexError(`unknown group name '${name}'`);
  if (group > groups) throw new RegexError(`invalid group reference ${group}`);
  return group;
}

function octalOf(digits: string): string {
  const code = Number.parseInt(digits, 8);
  if (code > MAX_OCTAL) throw new RegexError(`octal escape value \\${digits} outside of range`);
  return String.fromCharCode(code);
}

function letterOf(letter: string): string {
  if (letter === '') throw new RegexError('bad escape (end of pattern)');
  const found = Object.hasOwn(LETTERS, letter) ? LETTERS[letter] : undefined;
  if (found === undefined && /^[A-Za-z]$/.test(letter)) {
    throw new RegexError(letter === 'g' ? 'missing <' : `bad escape \\${letter}`);
  }
  return found ?? `\\${letter}`;
}
