interface Named {
  readonly id: string;
}

/** The columns that an address names, in their own order; all, where it names none. */
export function chosenColumns<Column extends Named>(
  all: readonly Column[],
  text = '',
): readonly Column[] {
  const ids = new Set(text.split(','));
  const chosen = all.filter(({ id }) => ids.has(id));
  return chosen.length === 0 ? all : chosen;
}

/** What an address has after a column was put in or taken out; empty for all. */
export function toggledColumns(
  all: readonly Named[],
  text: string | undefined,
  id: string,
): string {
  const ids = new Set(chosenColumns(all, text).map((column) => column.id));
  if (!ids.delete(id)) ids.add(id);
  const left = all.filter((column) => ids.has(column.id));
  return left.length === all.length ? '' : left.map((column) => column.id).join(',');
}
