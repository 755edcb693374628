import { createHash } from 'node:crypto';

/** The circles of tools/tests/circles.ts, the smallest first. */
type Circle = 'change' | 'release' | 'nightly';

/** A size for each circle; *nightly* defaults to that of *release*. */
export interface Sizes<T> {
  readonly change: T;
  readonly release: T;
  readonly nightly?: T;
}

/** A file that is run by itself runs whole. */
const circle = (process.env['BRINE_CIRCLE'] ?? 'release') as Circle;

/** The size of a test in the current circle. */
export function sized<T>({ change, release, nightly = release }: Sizes<T>): T {
  return { change, release, nightly }[circle];
}

/**
 * Draws some cases of a test in the circle *change*, by the commit, and keeps their order. Other
 * circles get all cases. It prints how to draw the same cases again.
 *
 * @param what the kind of cases, for the output.
 * @param nameOf names that stay when cases come and go: only the seed changes the draw.
 */
export function drawn<T>(
  what: string,
  all: readonly T[],
  count: number,
  nameOf: (one: T) => string = String,
): readonly T[] {
  const seed = process.env['BRINE_SAMPLE'];
  if (circle !== 'change' || seed === undefined || all.length <= count) return all;
  const places = all.map((one, at) => ({ at, hash: digest(`${seed} ${nameOf(one)}`) }));
  places.sort((one, other) => (one.hash < other.hash ? -1 : 1));
  const chosen = new Set(places.slice(0, count).map(({ at }) => at));
  process.stdout.write(`${what}: ${count} of ${all.length}, BRINE_SAMPLE=${seed}\n`);
  return all.filter((_, at) => chosen.has(at));
}

/** `count` seeds from `first` on; in the circle *change* only `some` in a row, drawn by commit. */
export function drawnSeeds(
  what: string,
  { first, count, some }: { readonly first: number; readonly count: number; readonly some: number },
): { readonly first: number; readonly count: number } {
  const ranges = Array.from({ length: Math.max(1, Math.floor(count / some)) }, (_, at) => at);
  const [range] = drawn(what, ranges, 1);
  const isAll =
    circle !== 'change' || range === undefined || process.env['BRINE_SAMPLE'] === undefined;
  return isAll ? { first, count } : { first: first + range * some, count: some };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
