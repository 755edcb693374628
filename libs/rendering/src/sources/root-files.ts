import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, normalize, sep } from 'node:path';

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_FILES = 100_000;
const MAX_DEPTH = 64;

/**
 * The files below `pillar_roots`, read on demand. An object serves one pillar: a file that was read
 * stays the same for it.
 */
export class RootFiles {
  readonly environments: readonly string[];
  /** Directories by environment. */
  readonly roots: Readonly<Record<string, readonly string[]>>;
  readonly #confines: readonly string[] | undefined;
  readonly #beside: readonly string[];
  readonly #texts = new Map<string, string | undefined>();

  /**
   * The configured roots. `__env__` stands for the requested environment, unless that has
   * directories of its own (Salt: Pillar.__gen_opts). Templates may name files by their absolute
   * paths below these directories, and below those in `beside`.
   */
  static of(
    roots: Readonly<Record<string, readonly string[]>>,
    asked: string,
    beside: readonly string[] = [],
  ): RootFiles {
    const { __env__: any, ...named } = roots;
    if (any === undefined || Object.hasOwn(named, asked)) {
      return new RootFiles(named, undefined, beside);
    }
    const dirs = isBelow(asked) ? any.map((dir) => dir.replaceAll('__env__', asked)) : [];
    return new RootFiles({ ...named, [asked]: dirs }, undefined, beside);
  }

  /** With `confines`, links must end below one of these directories. */
  constructor(
    roots: Readonly<Record<string, readonly string[]>>,
    confines?: readonly string[],
    beside: readonly string[] = [],
  ) {
    this.roots = roots;
    this.#beside = beside;
    this.#confines = confines?.map((dir) => realpathSync(dir) + sep);
    this.environments = Object.keys(roots);
  }

  /**
   * The text of a file. Undefined if it is missing, if the path leaves the roots, or if the file is
   * larger than 16 MiB. An absolute path names a file below any of the roots.
   */
  read(saltenv: string, path: string): string | undefined {
    const key = `${saltenv}\0${path}`;
    if (!this.#texts.has(key)) this.#texts.set(key, this.#load(saltenv, path));
    return this.#texts.get(key);
  }

  /** The absolute path of the file that {@link read} reads, or undefined. */
  place(saltenv: string, path: string): string | undefined {
    if (path.includes('\0')) return undefined;
    if (path.startsWith('/')) return this.#absolute(saltenv, normalize(path));
    if (path.split('/').includes('..')) return undefined;
    return this.#rootsOf(saltenv)
      .map((root) => join(root, path))
      .find((file) => this.#isThere(file));
  }

  /** Salt reads any file of the host by its absolute path (salt/utils/jinja.py get_source). */
  #absolute(saltenv: string, file: string): string | undefined {
    // Like Salt: an environment without directories has no files.
    if (this.#rootsOf(saltenv).length === 0) return undefined;
    const dirs = [...Object.values(this.roots).flat(), ...this.#beside];
    const isBelowOne = dirs.some((dir) => file.startsWith(normalize(`${dir}/`)));
    return isBelowOne && this.#isThere(file) ? file : undefined;
  }

  #isThere(file: string): boolean {
    const facts = statSync(file, { throwIfNoEntry: false });
    return facts?.isFile() === true && facts.size <= MAX_FILE_BYTES && this.#mayRead(file);
  }

  #load(saltenv: string, path: string): string | undefined {
    const file = this.place(saltenv, path);
    return file === undefined ? undefined : readFileSync(file, 'utf8');
  }

  #mayRead(file: string): boolean {
    if (this.#confines === undefined) return true;
    const real = realpathSync(file);
    return this.#confines.some((dir) => real.startsWith(dir));
  }

  /** Paths of all files of an environment, sorted. */
  list(saltenv: string): readonly string[] {
    const found = new Set<string>();
    for (const root of this.#rootsOf(saltenv)) walk(root, '', found, 0);
    return [...found].sort();
  }

  #rootsOf(saltenv: string): readonly string[] {
    return Object.hasOwn(this.roots, saltenv) ? (this.roots[saltenv] ?? []) : [];
  }
}

/** True if a name from a minion stays below the directory that it is used in. */
function isBelow(name: string): boolean {
  return !name.includes('\0') && !name.split('/').some((part) => ['', '.', '..'].includes(part));
}

function walk(root: string, below: string, found: Set<string>, depth: number): void {
  if (depth > MAX_DEPTH || found.size > MAX_FILES) return;
  const dir = join(root, below);
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  for (const name of readdirSync(dir)) {
    const path = below === '' ? name : `${below}/${name}`;
    const facts = statSync(join(root, path), { throwIfNoEntry: false });
    if (facts?.isDirectory() === true) walk(root, path, found, depth + 1);
    else if (facts?.isFile() === true) found.add(path);
  }
}
