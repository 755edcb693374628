// How large the console may be. Reasons and measured sizes of its parts: README.md.

/** A file of the build. */
export interface SizedFile {
  readonly fileName: string;
  /** Bytes after gzip. */
  readonly gzip: number;
  readonly isEntry: boolean;
  /** Files that it loads at once. */
  readonly imports: readonly string[];
}

const KB = 1_000;
/** Bytes of scripts before the first page is there; of all scripts; of all styles; after gzip. */
export const BUDGET = { first: 260 * KB, scripts: 560 * KB, styles: 45 * KB } as const;

/** Sizes of a build by the names of {@link BUDGET}, bytes after gzip. */
export function sizesOf(
  files: readonly SizedFile[],
): Readonly<Record<keyof typeof BUDGET, number>> {
  const scripts = files.filter(({ fileName }) => fileName.endsWith('.js'));
  const byName = new Map(scripts.map((file) => [file.fileName, file]));
  const first = new Set(scripts.filter(({ isEntry }) => isEntry));
  for (const { imports } of first) {
    for (const name of imports) {
      const file = byName.get(name);
      if (file !== undefined) first.add(file);
    }
  }
  return {
    first: sum([...first]),
    scripts: sum(scripts),
    styles: sum(files.filter(({ fileName }) => fileName.endsWith('.css'))),
  };
}

/** A line for each part of a build that is larger than it may be. */
export function overBudget(files: readonly SizedFile[]): readonly string[] {
  const sizes = sizesOf(files);
  return (Object.keys(BUDGET) as (keyof typeof BUDGET)[])
    .filter((name) => sizes[name] > BUDGET[name])
    .map((name) => `${name}: ${sizes[name]} bytes after gzip, more than ${BUDGET[name]}`);
}

function sum(files: readonly SizedFile[]): number {
  return files.reduce((all, { gzip }) => all + gzip, 0);
}
