/** A leaf of a value: where it is, with colons as Salt has them, and its text. */
export interface ValueRow {
  readonly path: string;
  readonly text: string;
}

/** Some rows of a value. */
export interface ValueRows {
  readonly rows: readonly ValueRow[];
  /** Rows with the word, without those that were not looked at. */
  readonly total: number;
  /** The value is larger than what is looked at. */
  readonly isCut: boolean;
}

/** Leaves that are looked at, and letters of one of them. */
const LEAVES_MAX = 20_000;
const TEXT_MAX = 2_000;
const PATH_MAX = 1_000;

/**
 * The leaves of a value in its order, those with a word in their path or text.
 * @param max rows
 */
export function valueRows(value: unknown, { word = '', max }: ValueSearch): ValueRows {
  const wanted = word.toLowerCase();
  const rows: ValueRow[] = [];
  let total = 0;
  let left = LEAVES_MAX;
  const open: (readonly [path: string, value: unknown])[] = [['', value]];
  while (open.length > 0 && left > 0) {
    const [path, one] = open.pop() ?? ['', null];
    const parts = partsOf(one).slice(0, LEAVES_MAX);
    left -= 1;
    if (parts.length > 0) {
      for (const [name, part] of parts.reverse()) {
        open.push([`${path === '' ? '' : `${path}:`}${name}`.slice(0, PATH_MAX), part]);
      }
      continue;
    }
    const text = textOf(one);
    if (!`${path}\n${text}`.toLowerCase().includes(wanted)) continue;
    total += 1;
    if (rows.length < max) rows.push({ path, text });
  }
  return { rows, total, isCut: open.length > 0 };
}

interface ValueSearch {
  readonly word?: string;
  readonly max: number;
}

/** The parts of a mapping, or of a list by their places. */
function partsOf(value: unknown): (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
