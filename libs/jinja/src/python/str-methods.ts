import { pyLength, splitLines, strip } from '@brine/wire/text';
import { bind, textArgument, wholeNumber } from '../arguments.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { bounded, joinBounded, MAX_LENGTH } from '../limits.ts';
import { type CallArguments, iterate, Tuple, tupleOf, typeName } from './values.ts';

type Method = (text: string, args: CallArguments) => unknown;

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;
const LEADING = new RegExp(`^${SPACE.source}`, 'u');

/** Python's methods of `str`, by name. */
export const STR_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['capitalize', (text) => capitalized(text)],
  ['casefold', (text) => text.toLowerCase().replaceAll('ß', 'ss')],
  ['center', (text, args) => centered(text, ...width('center', args))],
  ['count', (text, args) => countOf(window(text, 'count', args))],
  ['encode', (text) => new Uint8Array(Buffer.from(text, 'utf8'))],
  ['endswith', (text, args) => affix(text, 'endswith', args)],
  ['expandtabs', (text, args) => expandTabs(text, args)],
  ['find', (text, args) => found(window(text, 'find', args), false)],
  ['index', (text, args) => located(window(text, 'index', args), false)],
  ['isalnum', (text) => /^[\p{L}\p{N}]+$/u.test(text)],
  ['isalpha', (text) => /^\p{L}+$/u.test(text)],
  ['isascii', (text) => /^[\0-\x7f]*$/.test(text)],
  ['isdecimal', (text) => /^\p{Nd}+$/u.test(text)],
  ['isdigit', (text) => /^[\p{Nd}²³¹⁰⁴-⁹₀-₉]+$/u.test(text)],
  ['isidentifier', (text) => /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*$/u.test(text)],
  ['islower', (text) => text === text.toLowerCase() && text !== text.toUpperCase()],
  ['isnumeric', (text) => /^\p{N}+$/u.test(text)],
  ['isprintable', (text) => !/[\p{C}\p{Zl}\p{Zp}\xa0]/u.test(text)],
  ['isspace', (text) => text !== '' && strip(text) === ''],
  ['istitle', (text) => /\p{L}/u.test(text) && text === titled(text)],
  ['isupper', (text) => text === text.toUpperCase() && text !== text.toLowerCase()],
  ['join', (text, args) => join(text, args)],
  ['ljust', (text, args) => justified(text, args, 'ljust')],
  ['lower', (text) => text.toLowerCase()],
  ['lstrip', (text, args) => stripped(text, args, true, false)],
  ['partition', (text, args) => partition(text, args, false)],
  ['removeprefix', (text, args) => without(text, args, 'removeprefix')],
  ['removesuffix', (text, args) => without(text, args, 'removesuffix')],
  ['replace', (text, args) => replaced(text, args)],
  ['rfind', (text, args) => found(window(text, 'rfind', args), true)],
  ['rindex', (text, args) => located(window(text, 'rindex', args), true)],
  ['rjust', (text, args) => justified(text, args, 'rjust')],
  ['rpartition', (text, args) => partition(text, args, true)],
  ['rsplit', (text, args) => split(text, args, true)],
  ['rstrip', (text, args) => stripped(text, args, false, true)],
  ['split', (text, args) => split(text, args, false)],
  ['splitlines', (text, args) => lines(text, args)],
  ['startswith', (text, args) => affix(text, 'startswith', args)],
  ['strip', (text, args) => stripped(text, args, true, true)],
  ['swapcase', (text) => swapped(text)],
  ['title', (text) => titled(text)],
  ['upper', (text) => text.toUpperCase()],
  ['zfill', (text, { positional: [size] }) => zeroFilled(text, wholeNumber(size))],
]);

/** Python's `str.capitalize`. */
export function capitalized(text: string): string {
  const [first = ''] = text.slice(0, 2);
  // Where Python's upper case of one sign has two (ß), the initial is that of a title: Ss.
  const [initial = '', ...more] = first.toUpperCase();
  return initial + more.join('').toLowerCase() + text.slice(first.length).toLowerCase();
}

/** Python's `str.title`. */
export function titled(text: string): string {
  return text.replaceAll(/\p{L}+/gu, (word) => capitalized(word));
}

function swapped(text: string): string {
  return [...text].map((c) => (c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase())).join('');
}

function width(fun: string, { positional }: CallArguments): [number, string] {
  const fill = positional[1] ?? ' ';
  if (typeof fill !== 'string' || pyLength(fill) !== 1) {
    throw typeError('The fill character must be exactly one character long');
  }
  const size = wholeNumber(positional[0]);
  if (size > MAX_LENGTH) throw new JinjaError('Limit', `${fun}: too wide`);
  return [size, fill];
}

function centered(text: string, size: number, fill: string): string {
  const missing = Math.max(size - pyLength(text), 0);
  // CPython puts the odd blank to the left where the width is odd (unicodeobject.c).
  const before = Math.floor(missing / 2) + (missing & size & 1);
  return fill.repeat(before) + text + fill.repeat(missing - before);
}

function justified(text: string, args: CallArguments, fun: 'ljust' | 'rjust'): string {
  const [size, fill] = width(fun, args);
  const pad = fill.repeat(Math.max(size - pyLength(text), 0));
  return fun === 'ljust' ? text + pad : pad + text;
}

function zeroFilled(text: string, size: number): string {
  const sign = /^[-+]/.test(text) ? text.charAt(0) : '';
  const wide = Math.min(size, MAX_LENGTH) - sign.length;
  return sign + text.slice(sign.length).padStart(wide, '0');
}

interface Window {
  readonly text: string;
  readonly part: string;
  readonly start: number;
}

function window(text: string, _fun: string, { positional }: CallArguments): Window {
  const [part, from, to] = positional;
  if (typeof part !== 'string') throw typeError(`must be str, not ${typeName(part)}`);
  if (from == null && to == null) return { text, part, start: 0 };
  const characters = charactersOf(text);
  const place = (value: unknown, otherwise: number): number => {
    const at = value == null ? otherwise : wholeNumber(value);
    return at < 0 ? Math.max(at + characters.length, 0) : Math.min(at, characters.length);
  };
  const start = place(from, 0);
  const within = characters.slice(start, place(to, characters.length));
  return { text: typeof within === 'string' ? within : within.join(''), part, start };
}

/** The characters of a text: the text itself if each is one unit. */
function charactersOf(text: string): string | string[] {
  return /[\ud800-\udbff]/.test(text) ? [...text] : text;
}

function countOf({ text, part }: Window): number {
  return part === '' ? pyLength(text) + 1 : text.split(part).length - 1;
}

function found({ text, part, start }: Window, last: boolean): number {
  const at = last ? text.lastIndexOf(part) : text.indexOf(part);
  return at === -1 ? -1 : start + pyLength(text.slice(0, at));
}

function located(place: Window, last: boolean): number {
  const at = found(place, last);
  if (at === -1) throw valueError('substring not found');
  return at;
}

function affix(text: string, fun: 'startswith' | 'endswith', args: CallArguments): boolean {
  const [wanted, ...range] = args.positional;
  const options = wanted instanceof Tuple ? [...wanted] : [wanted];
  return options.some((option) => {
    if (typeof option !== 'string') {
      throw typeError(`${fun} first arg must be str or a tuple of str, not ${typeName(option)}`);
    }
    const named = args.named;
    const { text: part } = window(text, fun, { positional: [option, ...range], named });
    return fun === 'startswith' ? part.startsWith(option) : part.endsWith(option);
  });
}

function expandTabs(text: string, args: CallArguments): string {
  const size = wholeNumber(bind('expandtabs', ['tabsize'], args, { tabsize: 8 }).get('tabsize'));
  let column = 0;
  let length = 0;
  const parts = text.split(/([\t\n\r])/).map((part) => {
    const blanks = part === '\t' && size > 0 ? size - (column % size) : 0;
    if (part === '\n' || part === '\r') column = 0;
    else column += part === '\t' ? blanks : pyLength(part);
    length += part === '\t' ? blanks : part.length;
    return part === '\t' ? bounded(length, () => ' '.repeat(blanks)) : part;
  });
  return parts.join('');
}

function join(text: string, { positional: [list] }: CallArguments): string {
  if (list === null || typeof list === 'number') throw typeError('can only join an iterable');
  const items = iterate(list);
  items.forEach((item, at) => {
    if (typeof item === 'string') return;
    throw typeError(`sequence item ${at}: expected str instance, ${typeName(item)} found`);
  });
  return joinBounded(items as string[], text);
}

function stripped(
  text: string,
  { positional }: CallArguments,
  start: boolean,
  end: boolean,
): string {
  const [wanted] = positional;
  const characters = charactersOf(text);
  const set = wanted == null ? undefined : new Set(textArgument('strip', wanted));
  const out = (c: string | undefined): boolean =>
    c !== undefined && (set === undefined ? SPACE.test(c) : set.has(c));
  let from = 0;
  let to = characters.length;
  while (start && from < to && out(characters[from])) from += 1;
  while (end && to > from && out(characters[to - 1])) to -= 1;
  const left = characters.slice(from, to);
  return typeof left === 'string' ? left : left.join('');
}

function partition(text: string, { positional: [mark] }: CallArguments, last: boolean): Tuple {
  const separator = textArgument('partition', mark);
  if (separator === '') throw valueError('empty separator');
  const at = last ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at === -1) return tupleOf(last ? ['', '', text] : [text, '', '']);
  return tupleOf([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

function without(text: string, { positional: [part] }: CallArguments, fun: string): string {
  const affixed = textArgument(fun, part);
  if (fun === 'removeprefix') return text.startsWith(affixed) ? text.slice(affixed.length) : text;
  if (affixed === '' || !text.endsWith(affixed)) return text;
  return text.slice(0, text.length - affixed.length);
}

function replaced(text: string, args: CallArguments): string {
  const bound = bind('replace', ['old', 'new', 'count'], args, { count: -1 });
  const old = replacing(1, bound.get('old'));
  const fresh = replacing(2, bound.get('new'));
  return replaceText(text, old, fresh, wholeNumber(bound.get('count') ?? -1));
}

function replacing(place: number, value: unknown): string {
  if (typeof value === 'string') return value;
  throw typeError(`replace() argument ${place} must be str, not ${typeName(value)}`);
}

/** Python's `str.replace`; a negative count replaces all. */
export function replaceText(text: string, old: string, fresh: string, count = -1): string {
  const parts = old === '' ? ['', ...text, ''] : text.split(old);
  const times = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1);
  if (text.length + times * fresh.length > MAX_LENGTH) {
    throw new JinjaError('Limit', 'a value of the template grew too long');
  }
  const head = parts.slice(0, times + 1).join(fresh);
  const tail = parts.slice(times + 1);
  return tail.length === 0 ? head : [head, ...tail].join(old);
}

function split(text: string, args: CallArguments, right: boolean): string[] {
  const bound = bind('split', ['sep', 'maxsplit'], args, { sep: null, maxsplit: -1 });
  const sep = bound.get('sep') ?? null;
  const max = wholeNumber(bound.get('maxsplit'));
  const separator = sep === null ? undefined : textArgument('split', sep);
  if (separator === '') throw valueError('empty separator');
  if (separator === undefined) return splitBlanks(text, max, right);
  const parts = text.split(separator);
  if (max < 0 || parts.length <= max + 1) return parts;
  return right
    ? [parts.slice(0, parts.length - max).join(separator), ...parts.slice(parts.length - max)]
    : [...parts.slice(0, max), parts.slice(max).join(separator)];
}

function splitBlanks(text: string, max: number, right: boolean): string[] {
  if (right) return splitBlanks(backwards(text), max, false).map(backwards).reverse();
  const parts: string[] = [];
  let rest = text.replace(LEADING, '');
  while (max < 0 || parts.length < max) {
    const gap = SPACE.exec(rest);
    if (gap === null) break;
    parts.push(rest.slice(0, gap.index));
    rest = rest.slice(gap.index + gap[0].length);
  }
  return rest === '' ? parts : [...parts, rest];
}

function backwards(text: string): string {
  return [...text].reverse().join('');
}

function lines(text: string, { positional, named }: CallArguments): string[] {
  const keep = positional[0] ?? named.get('keepends') ?? false;
  if (keep !== true) return splitLines(text);
  return text.match(/[^\n\r]*(?:\r\n|\n|\r)|[^\n\r]+$/g) ?? [];
}
