import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyLength, pyStr, sortedValues, typeName } from '@brine/wire/text';
import { type Colors, colorsOf } from './colors.ts';
import { type OutputContext, UnfitDataError } from './outputter.ts';

/** Text in a column is broken at a space beyond this. */
const COLUMN_WIDTH = 50;

/** Lists of dictionaries as tables (Salt: salt/output/table_out.py, with its defaults). */
export function tableOutput(data: SaltValue, context: OutputContext): string {
  const lines: string[] = [];
  display(data, 0, colorsOf(context.color), lines);
  return lines.join('\n');
}

function display(value: SaltValue, indent: number, colors: Colors, lines: string[]): void {
  if (Array.isArray(value)) {
    lines.push(...displayRows(value, indent, colors));
    return;
  }
  if (!isMap(value)) return;
  for (const key of sortedKeys(value)) {
    const before = ' '.repeat(indent) + colors.darkGray;
    lines.push(`${before}${pyStr(key)}${colors.end}:`, `${before}----------${colors.end}`);
    const item = value.get(key) ?? null;
    if (Array.isArray(item)) lines.push(...displayRows(item, indent, colors));
    else display(item, indent + 4, colors, lines);
  }
}

function sortedKeys(map: SaltMap): SaltValue[] {
  const keys = sortedValues(map.keys());
  if (keys === undefined) throw new UnfitDataError('TypeError', 'keys of several types');
  return keys;
}

function displayRows(rows: readonly SaltValue[], indent: number, colors: Colors): string[] {
  const first = rows[0];
  if (first === undefined) return [];
  const type = typeName(first);
  if (rows.some((row) => typeName(row) !== type)) return [];
  const cells: string[][] = [];
  let header = false;
  if (isMap(first)) {
    cells.push(sortedKeys(first).map((key) => titled(pyStr(key))));
    header = true;
  }
  for (const row of rows) cells.push(cellsOf(row));
  if (header && cells[0]?.length === 0) cells.shift();
  if (cells.some((row) => row.length === 0)) {
    throw new UnfitDataError('TypeError', 'a row without cells');
  }
  return prepareRows(cells, indent + 4, colors, header);
}

function cellsOf(row: SaltValue): string[] {
  if (isMap(row)) return sortedKeys(row).map((key) => pyStr(row.get(key) ?? null));
  if (typeof row === 'string') return [row];
  if (!Array.isArray(row)) throw new UnfitDataError('TypeError', 'a row is no list');
  return row.map((cell) => {
    if (typeof cell !== 'string') throw new UnfitDataError('AttributeError', 'a cell is no text');
    return cell;
  });
}

/** Python's str.title with underscores as spaces. */
function titled(text: string): string {
  return text.replaceAll('_', ' ').replace(/\p{L}+/gu, (word) => {
    const [head = '', ...rest] = [...word];
    return head.toUpperCase() + rest.join('').toLowerCase();
  });
}

/** Rows of cells as lines; the first row may be a header. */
export function prepareRows(
  rows: readonly string[][],
  indent: number,
  colors: Colors,
  header: boolean,
): string[] {
  // Each row becomes as many physical rows as its shortest cell has lines (Python's map).
  const physical = rows.map((row) => {
    const wrapped = row.map((cell) => wrapOnSpace(cell).split('\n'));
    const height = Math.min(...wrapped.map((lines) => lines.length));
    return Array.from({ length: wrapped.length === 0 ? 0 : height }, (_, at) =>
      wrapped.map((lines) => lines[at] ?? ''),
    );
  });
  const all = physical.flat();
  const columns = all.length === 0 ? 0 : Math.min(...all.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(...all.map((row) => pyLength(row[at] ?? ''))),
  );
  const total = 4 + widths.reduce((sum, width) => sum + width, 0) + 3 * (widths.length - 1);
  const before = ' '.repeat(indent);
  const rule = `${before}${colors.lightGray}${'-'.repeat(Math.max(total, 0))}${colors.end}`;
  const lines = [rule];
  for (const group of physical) {
    for (const row of group) {
      const cells = widths.map((width, at) => centre(row[at] ?? '', width));
      lines.push(`${before}${colors.white}| ${cells.join(' | ')} |${colors.end}`);
    }
    lines.push(rule);
  }
  return header || rows.length > 0 ? lines : [];
}

/** Python's str.center. */
function centre(text: string, width: number): string {
  const room = width - pyLength(text);
  if (room <= 0) return text;
  const left = Math.floor(room / 2) + (room & width & 1);
  return ' '.repeat(left) + text + ' '.repeat(room - left);
}

function wrapOnSpace(text: string): string {
  const [first = '', ...words] = text.split(' ');
  return words.reduce((line, word) => {
    const current = line.slice(line.lastIndexOf('\n') + 1);
    const next = word.split('\n', 1)[0] ?? '';
    const full = pyLength(current) + pyLength(next) >= COLUMN_WIDTH;
    return line + (full ? '\n' : ' ') + word;
  }, first);
}
