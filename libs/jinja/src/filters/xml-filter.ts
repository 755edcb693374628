import type { Filter } from '../environment.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { joinBounded } from '../limits.ts';
import { str } from '../python/text.ts';
import { isDict, isList, iterate, numberOf, Tuple, typeName, Undefined } from '../python/values.ts';

/** Salt's filter that writes XML (Salt: salt/utils/jinja.py format_xml). */
export const XML_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['xml', (value) => document(value)],
]);

interface Element {
  readonly tag: string;
  attributes: readonly (readonly [string, string])[];
  text: string;
  readonly children: Element[];
}

function document(value: unknown): string {
  if (value instanceof Undefined) throw value.error();
  const root = elementOf(pairs(value).map(unpacked), undefined);
  if (root === undefined) {
    throw new JinjaError('AttributeError', "'NoneType' object has no attribute 'iter'");
  }
  return `<?xml version="1.0" ?>\n${written(root, '')}`;
}

/** Entries of a dict; of a list its own values where the first is a text, otherwise none. */
function pairs(value: unknown): readonly unknown[] {
  if (isDict(value)) return [...value];
  if (!isList(value) && !(value instanceof Tuple)) {
    throw new JinjaError('Runtime', 'Value is not a dict or list. Cannot render as XML');
  }
  if (value.length === 0) throw new JinjaError('IndexError', 'list index out of range');
  return typeof value[0] === 'string' ? value : [];
}

type Pair = readonly [tag: unknown, content: unknown];

function unpacked(pair: unknown): Pair {
  const parts = iterate(pair);
  if (parts.length === 2) return [parts[0], parts[1]];
  const count = `expected 2${parts.length < 2 ? `, got ${parts.length}` : ''}`;
  throw valueError(`${parts.length < 2 ? 'not enough' : 'too many'} values to unpack (${count})`);
}

/** Adds elements to a parent, or makes elements without one; returns the last of them. */
function elementOf(list: readonly Pair[], parent: Element | undefined): Element | undefined {
  let last: Element | undefined;
  for (const [tag, content] of list) {
    if (isList(content)) for (const one of content) elementOf([[tag, one]], parent);
    else {
      last = { tag: nameOf(tag), attributes: [], text: '', children: [] };
      parent?.children.push(last);
    }
    if (fill(last, content)) continue;
    for (const item of pairs(content)) {
      const [inner, value] = typeof item === 'string' ? lettersOf(item) : unpacked(item);
      if (isDict(value) || isList(value)) last = into(last, [inner, value]);
    }
  }
  return last;
}

/** Sets a plain text as the only content of an element; false for other content. */
function fill(element: Element | undefined, content: unknown): boolean {
  const isPlain = typeof content === 'string' || numberOf(content) !== undefined;
  if (element === undefined) return isPlain;
  if (isPlain) element.text = str(content);
  else if (isDict(content)) {
    element.attributes = [...content]
      .filter(([, value]) => !isDict(value) && !isList(value))
      .map(([name, value]) => [nameOf(name), str(value)]);
  }
  return isPlain;
}

function into(element: Element | undefined, pair: Pair): Element | undefined {
  elementOf([pair], element);
  return element;
}

/** Salt takes the first two letters of a text as a pair. */
function lettersOf(text: string): Pair {
  const [first = '', second] = [...text];
  if (second === undefined) throw new JinjaError('IndexError', 'string index out of range');
  return [first, second];
}

/** Python's parser, through which Salt sends the text, reads no other names. */
function nameOf(name: unknown): string {
  if (typeof name !== 'string') {
    throw typeError(`cannot serialize ${str(name)} (type ${typeName(name)})`);
  }
  if (!/^[A-Za-z_][\w.-]*$/.test(name)) throw valueError('not well-formed (invalid token)');
  return name;
}

function written({ tag, attributes, text, children }: Element, indent: string): string {
  const shown = attributes.map(([name, value]) => ` ${name}="${escaped(value)}"`);
  const head = `${indent}<${tag}${joinBounded(shown, '')}`;
  if (children.length === 0) {
    return text === '' ? `${head}/>\n` : `${head}>${escaped(text)}</${tag}>\n`;
  }
  const inner = joinBounded(
    children.map((child) => written(child, `${indent} `)),
    '',
  );
  return `${head}>\n${inner}${indent}</${tag}>\n`;
}

const SIGNS: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function escaped(text: string): string {
  if (/[\0-\x08\x0b\x0c\x0e-\x1f]/.test(text)) throw valueError('not well-formed (invalid token)');
  return text.replaceAll(/[&<>"]/g, (sign) => SIGNS[sign] ?? sign);
}
