import type { Node, SetItem } from './ast.ts';
import { RegexError } from './ast.ts';
import { escapedCode, isClassName, octalCode } from './escapes.ts';
import type { Reader } from './reader.ts';

const BACKSPACE = 8;

/** Reads a set behind its opening bracket (Python: re/_parser.py). */
export function parseSet(reader: Reader, ascii: boolean): Node {
  const negated = reader.take('^');
  const items: SetItem[] = [];
  let first = true;
  for (;;) {
    if (reader.peek() === ']' && !first) {
      reader.next();
      return { kind: 'set', negated, items };
    }
    first = false;
    const low = parseItem(reader, ascii);
    if (reader.peek() !== '-' || reader.peek(1) === ']') {
      items.push(low);
      continue;
    }
    reader.next();
    items.push(rangeOf(low, parseItem(reader, ascii)));
  }
}

function rangeOf(low: SetItem, high: SetItem): SetItem {
  if (low.kind !== 'range' || high.kind !== 'range' || low.from > high.from) {
    throw new RegexError('bad character range');
  }
  return { kind: 'range', from: low.from, to: high.from };
}

function parseItem(reader: Reader, ascii: boolean): SetItem {
  const char = reader.next();
  if (char !== '\\') return single(char.codePointAt(0) ?? 0);
  const letter = reader.next();
  if (isClassName(letter)) return { kind: 'class', name: letter, ascii };
  if (letter === 'b') return single(BACKSPACE);
  const code = escapedCode(letter, reader) ?? octalCode(letter, reader, 2);
  return single(code);
}

function single(code: number): SetItem {
  return { kind: 'range', from: code, to: code };
}
