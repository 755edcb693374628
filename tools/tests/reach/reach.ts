import { type ImportGraph, type Step, TEST_SIDE } from './import-graph.ts';
import type { Row } from './other-reads.ts';

/** The files that one test reaches. */
export class Reached {
  /** A file or a folder, and the file that led there. */
  readonly #from: ReadonlyMap<string, string>;
  readonly #folders: readonly string[];

  constructor(from: ReadonlyMap<string, string>) {
    this.#from = from;
    this.#folders = [...from.keys()].filter((path) => path.endsWith('/'));
  }

  /**
   * The path of imports from the test to a file, both included, which explains why a test runs.
   * Undefined if the test does not reach it. The file may be deleted.
   */
  way(path: string): readonly string[] | undefined {
    const found = this.#from.has(path)
      ? path
      : this.#folders.find((folder) => path.startsWith(folder));
    if (found === undefined) return undefined;
    const way = found === path ? [path] : [path, found];
    for (let at = found; ;) {
      const from = this.#from.get(at);
      if (from === undefined || from === at) return way.reverse();
      way.push(from);
      at = from;
    }
  }
}

/** The files that a test can depend on, by imports and by the table of other reads. */
export class Reach {
  readonly #graph: ImportGraph;
  readonly #rows: readonly Row[];

  constructor(graph: ImportGraph, rows: readonly Row[]) {
    this.#graph = graph;
    this.#rows = rows;
  }

  /** All files that a test file reaches, itself included. */
  of(test: string): Reached {
    const from = new Map([[test, test]]);
    const entered = new Set([test]);
    const waiting = [test];
    let named: { readonly by: string; readonly step: Step }[] = [];
    const names = new Set<string>();
    const follow = (step: Step, by: string): void => {
      if (!from.has(step.to)) from.set(step.to, by);
      if (!step.through || entered.has(step.to)) return;
      entered.add(step.to);
      waiting.push(step.to);
    };
    while (waiting.length > 0) {
      for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
        if (TEST_SIDE.test(at)) takeNames(this.#graph.strings(at), names);
        for (const step of this.#stepsOf(at)) {
          if (step.named === undefined) follow(step, at);
          else named.push({ by: at, step });
        }
      }
      const isNamed = ({ named: name = '' }: Step): boolean => names.has(name);
      named.filter(({ step }) => isNamed(step)).forEach(({ by, step }) => follow(step, by));
      named = named.filter(({ step }) => !isNamed(step));
    }
    return new Reached(from);
  }

  #stepsOf(path: string): readonly Step[] {
    const rows = this.#rows.filter(({ by }) => by.test(path));
    return [...this.#graph.steps(path), ...rows.flatMap(({ steps }) => steps)];
  }
}

/** Adds whole names: `run` and `salt-run` in `salt-run`, neither in `running`. */
function takeNames(strings: readonly string[], names: Set<string>): void {
  for (const text of strings) {
    for (const name of text.split(/[^\w-]+/)) names.add(name);
    for (const name of text.split(/[^A-Za-z0-9]+/)) names.add(name);
  }
}
