/** Numbers that an address names; more are dropped. */
const NAMED_MAX = 200;
const ALL = 'all';

/** Which rows of a tree are closed: the named ones, or all but these. */
export interface Folds {
  readonly isAll: boolean;
  readonly named: ReadonlySet<number>;
}

/** Reads the closed rows of an address: `3,7`, or `all,7` for all but the seventh. */
export function foldsIn(text = ''): Folds {
  const [first, ...rest] = text.split(',');
  const isAll = first === ALL;
  const words = (isAll ? rest : text.split(',')).filter((word) => /^\d{1,9}$/.test(word));
  return { isAll, named: new Set(words.slice(0, NAMED_MAX).map(Number)) };
}

/** The same as a text for an address; empty where all is open. */
export function foldsText({ isAll, named }: Folds): string {
  const numbers = [...named].sort((one, other) => one - other).slice(0, NAMED_MAX);
  return [...(isAll ? [ALL] : []), ...numbers].join(',');
}

/** No row closed. */
export const ALL_OPEN: Folds = { isAll: false, named: new Set() };

/** All rows closed. @param open the numbers of those that stay open */
export function allClosed(open: readonly number[] = []): Folds {
  return { isAll: true, named: new Set(open.slice(0, NAMED_MAX)) };
}

/** True for a row that is closed. @param number of the row */
export function isClosed({ isAll, named }: Folds, number: number): boolean {
  return named.has(number) !== isAll;
}

/** Closes or opens one row. */
export function folded(folds: Folds, number: number, toClosed: boolean): Folds {
  const named = new Set(folds.named);
  if (toClosed === folds.isAll) named.delete(number);
  else named.add(number);
  return { ...folds, named };
}
