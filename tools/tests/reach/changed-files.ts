import { ImportGraph, type Tree } from './import-graph.ts';
import { NEEDS_NO_TEST, OTHER_READS, type Read, rowsOf, type Untested } from './other-reads.ts';
import { Reach, type Reached } from './reach.ts';

/** The tests that a change reaches. */
export interface ReachedTests {
  /** Test → the path of imports from it to a changed file, both included. */
  readonly tests: ReadonlyMap<string, readonly string[]>;
  /** Changed paths that no test reaches and the table does not list: all tests run. */
  readonly unknown: readonly string[];
}

/** Files that tests read beyond imports, and paths that need no test. */
export interface Tables {
  readonly reads: readonly Read[];
  readonly untested: readonly Untested[];
}

/** Finds the tests of a tree that changed paths can affect. */
export class ChangedFiles {
  readonly #graph: ImportGraph;
  readonly #reach: Reach;
  readonly #untested: readonly Untested[];
  readonly #there: ReadonlySet<string>;
  readonly #reached = new Map<string, Reached>();

  /** @throws Error for a row of the table that names a missing path */
  constructor(tree: Tree, tables: Tables = { reads: OTHER_READS, untested: NEEDS_NO_TEST }) {
    this.#graph = new ImportGraph(tree);
    this.#reach = new Reach(this.#graph, rowsOf(tables.reads, tree));
    this.#untested = tables.untested;
    this.#there = new Set(tree.paths);
  }

  /** The tests that the paths reach. The paths may be deleted. */
  reach(paths: readonly string[], tests: readonly string[]): ReachedTests {
    const unknown = new Set(paths.filter((path) => this.#hasRun(path)));
    const found = new Map<string, readonly string[]>();
    for (const test of tests) {
      for (const path of paths) {
        const way = this.#of(test).way(path);
        if (way === undefined) continue;
        unknown.delete(path);
        if (!found.has(test)) found.set(test, way);
      }
    }
    return { tests: found, unknown: [...unknown] };
  }

  #of(test: string): Reached {
    let reached = this.#reached.get(test);
    if (reached === undefined) {
      reached = this.#reach.of(test);
      this.#reached.set(test, reached);
    }
    return reached;
  }

  /** True for a path that can affect a run. */
  #hasRun(path: string): boolean {
    if (this.#untested.some(({ paths }) => paths.test(path))) return false;
    // A deleted test changes the count of tests; a deleted source breaks its importers.
    if (!this.#there.has(path)) return !/\.(ts|mjs|cjs|js)$/.test(path);
    return !this.#graph.isTypes(path);
  }
}
