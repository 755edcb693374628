/** A release that is in the package index but not in the table of `libs/testing`. */
export interface News {
  readonly release: string;
  /** The newest of its line in the table; undefined for a new line. */
  readonly known: string | undefined;
}

/** The newest release of each line, from the output of `pip index versions salt`. */
export function newestPublished(printed: string): ReadonlyMap<string, string> {
  const [, list] = /^Available versions: (.+)$/m.exec(printed) ?? [];
  if (list === undefined) throw new Error(`the package index names no releases: ${printed}`);
  const newest = new Map<string, string>();
  for (const release of list.split(',').map((word) => word.trim())) {
    const [, line, point] = /^(\d{4})\.(\d+)$/.exec(release) ?? [];
    if (line === undefined) continue;
    const before = newest.get(line)?.split('.')[1] ?? '-1';
    if (Number(point) > Number(before)) newest.set(line, release);
  }
  return newest;
}

/** Published releases newer than the known ones, in lines that are still maintained. */
export function newsOf(
  published: ReadonlyMap<string, string>,
  known: readonly string[],
): readonly News[] {
  const lines = new Map(known.map((release) => [release.slice(0, 4), release]));
  const oldest = [...lines.keys()].sort()[0] ?? '';
  return [...published]
    .filter(([line, release]) => line >= oldest && lines.get(line) !== release)
    .map(([line, release]) => ({ release, known: lines.get(line) }));
}
