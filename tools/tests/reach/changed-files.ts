import { ImportGraph, type Tree } from './import-graph.ts';
import { NEEDS_NO_TEST, OTHER_READS, type Read, rowsOf, type Untested } from './other-reads.ts';
import { Reach, type Reached } from './reach.ts';

/** What a change reaches. */
export interface ReachedTests {
  /** Test → the way from it to a changed path, both included. */
  readonly tests: ReadonlyMap<string, readonly string[]>;
  /** Changed paths that the table gives to no test, and that no test reaches: all tests run. */
  readonly unknown: readonly string[];
}

/** What tests read beyond imports, and what needs no test. */
export interface Tables {
  readonly reads: readonly Read[];
  readonly untested: readonly Untested[];
}

/** Finds which tests of a tree changed paths can make come out otherwise. */
export class ChangedFiles {
  readonly #graph: ImportGraph;
  readonly #reach: Reach;
  readonly #untested: readonly Untested[];
  readonly #there: ReadonlySet<string>;
  readonly #reached = new Map<string, Reached>();

  /** @throws Error for a row of the table that names what is not there */
  constructor(tree: Tree, tables: Tables = { reads: OTHER_READS, untested: NEEDS_NO_TEST }) {
    this.#graph = new ImportGraph(tree);
    this.#reach = new Reach(this.#graph, rowsOf(tables.reads, tree));
    this.#untested = tables.untested;
    this.#there = new Set(tree.paths);
  }

  /** Which of these tests the paths reach. The paths need not be there any more. */
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

  /** True for a path that can make a run come out otherwise. */
  #hasRun(path: string): boolean {
    if (this.#untested.some(({ paths }) => paths.test(path))) return false;
    // A test that is gone is missed by the count of tests; a source that is gone, by its importers.
    if (!this.#there.has(path)) return !/\.(ts|mjs|cjs|js)$/.test(path);
    return !this.#graph.isTypes(path);
  }
}
