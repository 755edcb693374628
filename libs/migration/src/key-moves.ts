/** The directories with key files, by what a key in them is. */
export const SHELVES = ['accepted', 'pending', 'rejected', 'denied', 'autosign'] as const;

/** One of the directories. */
export type Shelf = (typeof SHELVES)[number];

/** Names by shelf. */
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

/** A minion has one of these, beside which it may have a denied key. */
const STATES: readonly Shelf[] = ['accepted', 'pending', 'rejected'];

/**
 * What Brine lacks of the keys of a stock master. An id that Brine has a state of keeps it: the
 * state may be newer there.
 * @param isSame whether both masters have the same key in a file that both have
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
  // Deleted at the stock master, perhaps: it must not be accepted again without a word.
  for (const id of brine.accepted) if (!stocks.has(id)) differ.add(id);
  return { moves, differ: [...differ].sort() };
}

/**
 * What makes the keys of a stock master those of Brine. Keys that were deleted in Brine go, so that
 * no minion is let in again.
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
  // Additions first: a kill in between leaves a key in two states, not in none.
  return moves.sort((one, other) => one.act.localeCompare(other.act));
}
