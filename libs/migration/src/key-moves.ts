/** The directories of key files, by the state of their keys. */
export const SHELVES = ['accepted', 'pending', 'rejected', 'denied', 'autosign'] as const;

/** One of the directories. */
export type Shelf = (typeof SHELVES)[number];

/** Ids by shelf. */
export type Shelves = Readonly<Record<Shelf, readonly string[]>>;

/** One change to the key files of the other master. */
export interface KeyMove {
  readonly act: 'add' | 'remove';
  readonly shelf: Shelf;
  readonly id: string;
}

/** Changes, and the ids that stay as they are although they differ. */
export interface KeyMoves {
  readonly moves: readonly KeyMove[];
  readonly differ: readonly string[];
}

/** A minion has one of these states, and may have a denied key too. */
const STATES: readonly Shelf[] = ['accepted', 'pending', 'rejected'];

/**
 * Lists the keys of a stock master that Brine lacks. An id that Brine knows keeps its state, which
 * may be newer.
 * @param isSame true if the masters have the same key in a file that both have
 */
export function missingKeys(
  stock: Shelves,
  brine: Shelves,
  isSame: (shelf: Shelf, id: string) => boolean,
): KeyMoves {
  const known = new Map<string, Shelf>();
  for (const shelf of STATES) for (const id of brine[shelf]) known.set(id, shelf);
  const moves: KeyMove[] = [];
  const differ = new Set<string>();
  for (const shelf of STATES) {
    for (const id of stock[shelf]) {
      const there = known.get(id);
      if (there === undefined) moves.push({ act: 'add', shelf, id });
      else if (there !== shelf || !isSame(shelf, id)) differ.add(id);
    }
  }
  for (const shelf of ['denied', 'autosign'] as const) {
    const there = new Set(brine[shelf]);
    for (const id of stock[shelf]) if (!there.has(id)) moves.push({ act: 'add', shelf, id });
  }
  const stocks = new Set(STATES.flatMap((shelf) => stock[shelf]));
  // Perhaps deleted at the stock master: report it, so that its acceptance does not go unnoticed.
  for (const id of brine.accepted) if (!stocks.has(id)) differ.add(id);
  return { moves, differ: [...differ].sort() };
}

/**
 * Lists the changes that make a stock master's keys equal to Brine's. Keys deleted in Brine are
 * removed, so that no minion is accepted again.
 */
export function sameKeys(
  brine: Shelves,
  stock: Shelves,
  isSame: (shelf: Shelf, id: string) => boolean,
): readonly KeyMove[] {
  const moves: KeyMove[] = [];
  for (const shelf of SHELVES) {
    const [wanted, there] = [new Set(brine[shelf]), new Set(stock[shelf])];
    for (const id of wanted) {
      if (!there.has(id) || !isSame(shelf, id)) moves.push({ act: 'add', shelf, id });
    }
    for (const id of there) if (!wanted.has(id)) moves.push({ act: 'remove', shelf, id });
  }
  // Additions first: after a kill in between, a key has two states rather than none.
  return moves.sort((one, other) => one.act.localeCompare(other.act));
}
