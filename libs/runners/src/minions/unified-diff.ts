/*
 * Differences of two texts as Python's difflib finds them: the longest run of equal lines first,
 * then the same on both sides of it. Another algorithm would find other valid differences.
 */

/** In texts of this many lines a line that makes up more than 1 % of them is no anchor. */
const MANY_LINES = 200;

/**
 * Limit of compared lines, because both texts come from minions: some seconds on a slow machine.
 */
const WORK_MAX = 20_000_000;

/** The texts take too much work to be compared. */
export class DiffWorkError extends Error {
  override readonly name = 'DiffWorkError';
}

/** A run of equal lines: its start in both texts, and its length. */
interface Run {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

interface Part {
  readonly aLow: number;
  readonly aHigh: number;
  readonly bLow: number;
  readonly bHigh: number;
}

/**
 * The lines of a unified diff without context, each with its line end; none for equal texts.
 * @throws DiffWorkError
 */
export function unifiedDiff(
  from: { readonly name: string; readonly lines: readonly string[] },
  to: { readonly name: string; readonly lines: readonly string[] },
): string[] {
  const [a, b] = [from.lines, to.lines];
  const shown: string[] = [];
  let [aAt, bAt] = [0, 0];
  for (const run of [...equalRuns(a, b), { a: a.length, b: b.length, size: 0 }]) {
    if (aAt < run.a || bAt < run.b) {
      if (shown.length === 0) shown.push(`--- ${from.name}\n`, `+++ ${to.name}\n`);
      shown.push(`@@ -${rangeOf(aAt, run.a)} +${rangeOf(bAt, run.b)} @@\n`);
      for (const line of a.slice(aAt, run.a)) shown.push(`-${line}\n`);
      for (const line of b.slice(bAt, run.b)) shown.push(`+${line}\n`);
    }
    [aAt, bAt] = [run.a + run.size, run.b + run.size];
  }
  return shown;
}

/** A range of lines, from 1; an empty one names the line before it. */
function rangeOf(start: number, stop: number): string {
  const length = stop - start;
  if (length === 1) return String(start + 1);
  return `${length === 0 ? start : start + 1},${length}`;
}

/** Runs of equal lines in the order of both texts; neighbours are one. */
function equalRuns(a: readonly string[], b: readonly string[]): Run[] {
  const search = new RunSearch(a, b);
  const found: Run[] = [];
  const parts: Part[] = [{ aLow: 0, aHigh: a.length, bLow: 0, bHigh: b.length }];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const { aLow, aHigh, bLow, bHigh } = part;
    const run = search.longest(part);
    if (run.size === 0) continue;
    found.push(run);
    if (aLow < run.a && bLow < run.b) parts.push({ aLow, aHigh: run.a, bLow, bHigh: run.b });
    const [aEnd, bEnd] = [run.a + run.size, run.b + run.size];
    if (aEnd < aHigh && bEnd < bHigh) parts.push({ aLow: aEnd, aHigh, bLow: bEnd, bHigh });
  }
  found.sort((one, other) => one.a - other.a || one.b - other.b);
  const joined: Run[] = [];
  for (const run of found) {
    const last = joined.at(-1);
    if (last === undefined || last.a + last.size !== run.a || last.b + last.size !== run.b) {
      joined.push(run);
    } else joined.splice(-1, 1, { ...last, size: last.size + run.size });
  }
  return joined;
}

/** Finds the longest run of equal lines in a part of both texts; of equal ones the first. */
class RunSearch {
  readonly #a: readonly string[];
  readonly #b: readonly string[];
  /** Indexes of each line in the second text. */
  readonly #places = new Map<string, number[]>();
  #work = 0;

  constructor(a: readonly string[], b: readonly string[]) {
    this.#a = a;
    this.#b = b;
    for (const [at, line] of b.entries()) {
      const places = this.#places.get(line);
      if (places === undefined) this.#places.set(line, [at]);
      else places.push(at);
    }
    if (b.length < MANY_LINES) return;
    const popular = Math.floor(b.length / 100) + 1;
    for (const [line, places] of this.#places) {
      if (places.length > popular) this.#places.delete(line);
    }
  }

  longest({ aLow, aHigh, bLow, bHigh }: Part): Run {
    let best: Run = { a: aLow, b: bLow, size: 0 };
    /** Length of the run that ends at an index of the second text, for the previous line. */
    let lengths = new Map<number, number>();
    for (let at = aLow; at < aHigh; at += 1) {
      const next = new Map<number, number>();
      for (const place of this.#places.get(this.#a[at] ?? '') ?? []) {
        this.#spend();
        if (place < bLow) continue;
        if (place >= bHigh) break;
        const size = (lengths.get(place - 1) ?? 0) + 1;
        next.set(place, size);
        if (size > best.size) best = { a: at - size + 1, b: place - size + 1, size };
      }
      lengths = next;
      this.#spend();
    }
    return this.#grown(best, { aLow, aHigh, bLow, bHigh });
  }

  /** A run may continue with lines that are no anchors. */
  #grown({ a, b, size }: Run, { aLow, aHigh, bLow, bHigh }: Part): Run {
    while (a > aLow && b > bLow && this.#a[a - 1] === this.#b[b - 1]) {
      [a, b, size] = [a - 1, b - 1, size + 1];
      this.#spend();
    }
    while (a + size < aHigh && b + size < bHigh && this.#a[a + size] === this.#b[b + size]) {
      size += 1;
      this.#spend();
    }
    return { a, b, size };
  }

  #spend(): void {
    this.#work += 1;
    if (this.#work > WORK_MAX) throw new DiffWorkError('the differences take too much work');
  }
}
