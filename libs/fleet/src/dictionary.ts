/** Letters of a text that are kept: grains come from minions, and a release has some ten. */
export const TEXT_MAX = 128;

/** The code of no text. */
export const NONE = 0;

/**
 * The texts of a column, each once: rows have codes. A text is forgotten with its last row. Beyond
 * the limit of different texts a further one is not kept, and counted.
 */
export class Dictionary {
  readonly #max: number;
  readonly #codes = new Map<string, number>();
  readonly #texts: string[] = [''];
  readonly #uses: number[] = [0];
  readonly #free: number[] = [];
  #refused = 0;
  #sorted: readonly number[] | undefined;
  #ranks: Float64Array | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** Codes are below this. */
  get size(): number {
    return this.#texts.length;
  }

  /** How often a text found no room. */
  get refused(): number {
    return this.#refused;
  }

  /** The code of a text for one more row; {@link NONE} for the empty text, and without room. */
  take(text: string): number {
    const kept = cut(text);
    if (kept === '') return NONE;
    const known = this.#codes.get(kept);
    if (known !== undefined) {
      this.#uses[known] = (this.#uses[known] ?? 0) + 1;
      return known;
    }
    if (this.#codes.size >= this.#max) {
      this.#refused += 1;
      return NONE;
    }
    const code = this.#free.pop() ?? this.#texts.length;
    this.#texts[code] = kept;
    this.#uses[code] = 1;
    this.#codes.set(kept, code);
    this.#sorted = this.#ranks = undefined;
    return code;
  }

  /** One row less has this code. */
  release(code: number): void {
    if (code === NONE) return;
    const left = (this.#uses[code] ?? 0) - 1;
    this.#uses[code] = left;
    if (left > 0) return;
    this.#codes.delete(this.#texts[code] ?? '');
    this.#texts[code] = '';
    this.#free.push(code);
    this.#sorted = this.#ranks = undefined;
  }

  textOf(code: number): string {
    return this.#texts[code] ?? '';
  }

  /** The code of a text; undefined if no row has it. */
  codeOf(text: string): number | undefined {
    return this.#codes.get(cut(text));
  }

  /** The places of codes in the order of their texts, by code; -1 for {@link NONE}. */
  ranks(): Float64Array {
    if (this.#ranks !== undefined) return this.#ranks;
    const ranks = new Float64Array(this.#texts.length).fill(-1);
    this.#inOrder().forEach((code, place) => (ranks[code] = place));
    return (this.#ranks = ranks);
  }

  /** The place of a text in that order; between two places if no row has it. */
  rankOf(text: string): number {
    const kept = cut(text);
    const code = kept === '' ? NONE : this.#codes.get(kept);
    if (code !== undefined) return this.ranks()[code] ?? -1;
    const sorted = this.#inOrder();
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (inOrder(this.#texts[sorted[middle] ?? 0] ?? '', kept) < 0) low = middle + 1;
      else high = middle;
    }
    return low - 0.5;
  }

  #inOrder(): readonly number[] {
    if (this.#sorted !== undefined) return this.#sorted;
    const keyed = [...this.#codes].map(([text, code]) => ({ text, code, key: naturalKey(text) }));
    keyed.sort((a, b) => compare(a.key, b.key) || compare(a.text, b.text));
    return (this.#sorted = keyed.map(({ code }) => code));
  }
}

/** The text as it is kept: no more than {@link TEXT_MAX} letters, and no half of one. */
export function cut(text: string): string {
  if (text.length <= TEXT_MAX) return text;
  const last = text.charCodeAt(TEXT_MAX - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? TEXT_MAX - 1 : TEXT_MAX);
}

/** Orders texts with their numbers as numbers: 3006.5 is before 3006.30. */
export function inOrder(one: string, other: string): number {
  return compare(naturalKey(one), naturalKey(other)) || compare(one, other);
}

const DIGITS = 12;

function naturalKey(text: string): string {
  return text.replace(/\d+/g, (digits) => digits.padStart(DIGITS, '0'));
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
