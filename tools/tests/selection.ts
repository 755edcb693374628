import { SMOKE } from './circles.ts';
import { type Layer, layerOf } from './layers.ts';
import { ChangedFiles } from './reach/changed-files.ts';
import type { Tree } from './reach/import-graph.ts';
import type { Change } from './repository.ts';

/** The files that run, by layer, and the reasons. */
export interface Selection {
  readonly files: ReadonlyMap<Layer, readonly string[]>;
  readonly words: readonly string[];
}

/** Number of reasons to print: the rest usually follow from the same files. */
const REASONS_SHOWN = 40;

/** Files of some layers whose path contains one of these parts; all without parts. */
export function chosenByName(
  tree: Tree,
  layers: readonly Layer[],
  parts: readonly string[],
): Selection {
  const files = new Map(layers.map((layer) => [layer, testsOf(tree, layer).filter(isAsked)]));
  return { files, words: [] };

  function isAsked(path: string): boolean {
    return parts.length === 0 || parts.some((part) => path.includes(part));
  }
}

/** Files of some layers that a change reaches, with the smoke set; of `whole` layers all. */
export function chosenByReach(
  tree: Tree,
  change: Change,
  { layers, whole }: { readonly layers: readonly Layer[]; readonly whole: readonly Layer[] },
  reach = new ChangedFiles(tree),
): Selection {
  const tests = layers
    .filter((layer) => !whole.includes(layer))
    .flatMap((layer) => testsOf(tree, layer));
  // Check all tests for readers of a path, also those that do not run.
  const all = tree.paths.filter((path) => layerOf(path) !== undefined);
  const { tests: ways, unknown } = reach.reach(change.paths, all);
  const takesAll = change.base === undefined || unknown.length > 0;
  const reached = tests.filter((path) => takesAll || ways.has(path) || SMOKE.has(path));
  const files = new Map(
    layers.map((layer) => [
      layer,
      whole.includes(layer)
        ? testsOf(tree, layer)
        : reached.filter((path) => layerOf(path) === layer),
    ]),
  );
  const left = tests.filter((path) => !reached.includes(path));
  const words = [
    `compared with ${change.base ?? 'nothing: there is no older commit'}`,
    `${change.paths.length} paths differ`,
    ...unknown.map((path) => `no test is known to read ${path}: all run`),
    ...reasons(reached, ways, takesAll),
    `left out: ${left.length === 0 ? 'none' : left.join(' ')}`,
  ];
  return { files, words };
}

function reasons(
  reached: readonly string[],
  ways: ReadonlyMap<string, readonly string[]>,
  takesAll: boolean,
): readonly string[] {
  const lines = reached.map((path) => `${path}: ${reasonOf(path, ways.get(path), takesAll)}`);
  const more = lines.length - REASONS_SHOWN;
  return more > 0 ? [...lines.slice(0, REASONS_SHOWN), `and ${more} more`] : lines;
}

function reasonOf(path: string, way: readonly string[] | undefined, takesAll: boolean): string {
  const changed = way?.at(-1);
  if (changed === undefined) return SMOKE.get(path) ?? (takesAll ? 'all run' : 'not reached');
  const [first, ...between] = way?.slice(1, -1) ?? [];
  if (first === undefined) return changed === path ? 'changed' : changed;
  return `${changed}, by way of ${first}${between.length > 0 ? ' …' : ''}`;
}

function testsOf({ paths }: Tree, layer: Layer): readonly string[] {
  return paths.filter((path) => layerOf(path) === layer && !path.startsWith('test/fixtures/'));
}
