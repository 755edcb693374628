import { posix } from 'node:path';
import { type Module, moduleOf } from './module-edges.ts';

/** The files of the repository: paths from its root, and a reader. */
export interface Tree {
  readonly paths: readonly string[];
  text(path: string): string;
}

/** A step of reach from one file to others. */
export interface Step {
  /** A file, or a folder (with a slash at its end) of which every file counts. */
  readonly to: string;
  /** False for an index file that is only passed: its own text counts, and nothing behind it. */
  readonly through: boolean;
  /** Followed only for tests that have this text in a string. */
  readonly named?: string | undefined;
}

/** Files whose strings name programs, commands and files that a test uses. */
export const TEST_SIDE =
  /^(test\/|tools\/|libs\/testing\/|(libs|apps)\/[^/]+\/test\/)|\.(test|fixture)\.ts$/;
const SOURCE = /\.(ts|mjs|cjs|js)$/;
/** The table of commands: a test uses a command only if it names it. */
const COMMAND_TABLE = 'apps/cli/src/command-line.ts';

/** The imports between all sources. Packages are found by their `package.json`. */
export class ImportGraph {
  readonly #tree: Tree;
  readonly #paths: ReadonlySet<string>;
  readonly #modules = new Map<string, Module>();
  readonly #packages = new Map<string, Package>();
  readonly #steps = new Map<string, readonly Step[]>();

  constructor(tree: Tree) {
    this.#tree = tree;
    this.#paths = new Set(tree.paths);
    for (const path of tree.paths) {
      if (!/^(libs|apps|tools)\/[^/]+\/package\.json$/.test(path)) continue;
      const read = packageOf(path, tree.text(path));
      this.#packages.set(read.name, read);
    }
  }

  /** The texts of all strings in a source. */
  strings(path: string): readonly string[] {
    return SOURCE.test(path) ? this.#module(path).strings : [];
  }

  /** True for a source that declares types alone. */
  isTypes(path: string): boolean {
    return SOURCE.test(path) && this.#module(path).isTypes;
  }

  /** The steps from a file. Packages of others are covered by the lockfile. */
  steps(path: string): readonly Step[] {
    let steps = this.#steps.get(path);
    if (steps === undefined) {
      steps = SOURCE.test(path) ? this.#stepsOf(path) : [];
      this.#steps.set(path, steps);
    }
    return steps;
  }

  #stepsOf(path: string): readonly Step[] {
    const module = this.#module(path);
    const steps = module.edges.flatMap(({ to, kind, names, entry }) => {
      const found =
        kind === 'path' ? this.#besides(path, to) : this.#imported(path, to, names ?? ['*']);
      const named = path === COMMAND_TABLE ? entry : undefined;
      return named === undefined ? found : found.map((step) => ({ ...step, named }));
    });
    const manifest = this.#manifestOf(path);
    if (manifest !== undefined) steps.push({ to: manifest, through: false });
    if (!TEST_SIDE.test(path)) return steps;
    return [...steps, ...module.strings.flatMap((text) => this.#namedBy(path, text))];
  }

  /** The steps of an import: through index files, only to the files of the imported names. */
  #imported(from: string, specifier: string, names: readonly string[]): readonly Step[] {
    const target = this.#resolve(from, specifier);
    if (target === undefined) return [];
    if (!SOURCE.test(target) || names.includes('*')) return [{ to: target, through: true }];
    const { passes } = this.#module(target);
    const steps: Step[] = [{ to: target, through: false }];
    for (const name of names) {
      const passed = passes.get(name);
      if (passed === undefined) steps.push({ to: target, through: true });
      else steps.push(...this.#imported(target, passed.from, [passed.name]));
    }
    return steps;
  }

  #besides(from: string, path: string): readonly Step[] {
    const joined = sourceOf(posix.join(posix.dirname(from), path));
    for (const to of [joined, joined.replace(/\.js$/, '.ts')]) {
      if (this.#paths.has(to)) return [{ to, through: true }];
    }
    // A path of only `..` is continued at run time: the table lists those.
    if (/^[./]*$/.test(path)) return [];
    const folder = joined.replace(/\/*$/, '/');
    return this.#tree.paths.some((one) => one.startsWith(folder))
      ? [{ to: folder, through: false }]
      : [];
  }

  /** The file named by a string of a test, relative to the root or to the test. */
  #namedBy(path: string, text: string): readonly Step[] {
    const tried = [text, posix.join(posix.dirname(path), text)];
    const to = tried.find((one) => this.#paths.has(one));
    return to === undefined ? [] : [{ to, through: true }];
  }

  #resolve(from: string, specifier: string): string | undefined {
    if (specifier.startsWith('.')) {
      const joined = sourceOf(posix.join(posix.dirname(from), specifier));
      const tried = [joined, joined.replace(/\.js$/, '.ts'), joined.replace(/\.mjs$/, '.mts')];
      return tried.find((path) => this.#paths.has(path));
    }
    const [, name = '', door = ''] = /^(@brine\/[^/]+)(.*)$/.exec(specifier) ?? [];
    const found = this.#packages.get(name);
    if (found === undefined) return undefined;
    const to = found.doors.get(`.${door}`);
    if (to === undefined) throw new Error(`${from} imports ${specifier}, which is no door`);
    return posix.join(found.folder, to);
  }

  #manifestOf(path: string): string | undefined {
    const [, folder] = /^((?:libs|apps|tools)\/[^/]+)\//.exec(path) ?? [];
    const manifest = `${folder ?? ''}/package.json`;
    return this.#paths.has(manifest) ? manifest : undefined;
  }

  #module(path: string): Module {
    let module = this.#modules.get(path);
    if (module === undefined) {
      module = moduleOf(path, this.#tree.text(path));
      this.#modules.set(path, module);
    }
    return module;
  }
}

interface Package {
  readonly name: string;
  readonly folder: string;
  /** `./rpc` → its source. */
  readonly doors: ReadonlyMap<string, string>;
}

function packageOf(path: string, text: string): Package {
  const { name, exports = {} } = JSON.parse(text) as {
    name: string;
    exports?: Readonly<Record<string, { readonly source?: string }>>;
  };
  const doors = new Map<string, string>();
  for (const [door, { source }] of Object.entries(exports)) {
    if (source !== undefined) doors.set(door, source);
  }
  return { name, folder: posix.dirname(path), doors };
}

/** The source of a built file. */
function sourceOf(path: string): string {
  return path.replace(/^((?:libs|apps|tools)\/[^/]+)\/dist\//, '$1/src/');
}
