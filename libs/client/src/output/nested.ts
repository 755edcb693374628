import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { isNumber, pyStr, sortedValues, splitLines, stripEscapes } from '@brine/wire/text';
import { type Colors, colorsOf } from './colors.ts';
import type { OutputContext } from './outputter.ts';

interface Sheet {
  readonly colors: Colors;
  readonly failed: boolean;
  readonly lines: string[];
}

/** The default outputter: nested keys and values, one per line (Salt: salt/output/nested.py). */
export function nestedOutput(data: SaltValue, context: OutputContext): string {
  const sheet: Sheet = {
    colors: colorsOf(context.color),
    failed: context.retcode !== 0,
    lines: [],
  };
  display(sheet, data, context.nestedIndent, '');
  return sheet.lines.join('\n');
}

function display(sheet: Sheet, value: SaltValue, indent: number, prefix: string): void {
  if (value === null || typeof value === 'boolean' || isNumber(value)) {
    add(sheet, indent, sheet.colors.lightYellow, prefix + pyStr(value));
  } else if (typeof value === 'string') {
    displayText(sheet, value, indent, prefix);
  } else if (Array.isArray(value)) {
    displayList(sheet, value, indent);
  } else if (isMap(value)) {
    displayMap(sheet, value, indent, prefix);
  }
  // Bytes that are no UTF-8, datetimes and constants print nothing, as in Salt.
}

function displayText(sheet: Sheet, text: string, indent: number, prefix: string): void {
  let mark = prefix;
  for (const line of splitLines(text)) {
    add(sheet, indent, sheet.colors.green, mark + stripEscapes(line));
    mark = ' '.repeat(prefix.length);
  }
}

function displayList(sheet: Sheet, list: readonly SaltValue[], indent: number): void {
  const color = sheet.failed ? sheet.colors.red : sheet.colors.green;
  for (const item of list) {
    if (Array.isArray(item) || isMap(item)) {
      add(sheet, indent, color, '|_');
      display(sheet, item, indent + 2, isMap(item) ? '' : '- ');
    } else {
      display(sheet, item, indent, '- ');
    }
  }
}

function displayMap(sheet: Sheet, map: SaltMap, indent: number, prefix: string): void {
  const color = sheet.failed ? sheet.colors.red : sheet.colors.cyan;
  if (indent > 0) add(sheet, indent, color, '----------');
  for (const [key, value] of sortedEntries(map)) {
    const before = ' '.repeat(indent);
    sheet.lines.push(`${before}${color}${prefix}${pyStr(key)}${sheet.colors.end}:`);
    display(sheet, value, indent + 4, '');
  }
}

/** The entries by key; keys that Python cannot compare become text first. */
function sortedEntries(map: SaltMap): [SaltValue, SaltValue][] {
  const keys = sortedValues(map.keys());
  if (keys !== undefined) return keys.map((key) => [key, map.get(key) ?? null]);
  const texts: SaltMap = new Map([...map].map(([key, value]) => [pyStr(key), value]));
  return (sortedValues(texts.keys()) ?? []).map((key) => [key, texts.get(key) ?? null]);
}

function add(sheet: Sheet, indent: number, color: string, text: string): void {
  sheet.lines.push(`${' '.repeat(indent)}${color}${text}${sheet.colors.end}`);
}
