import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

const MAX_DEPTH = 32;
const MAX_FILES = 20_000;
const MAX_FILE_BYTES = 1024 * 1024;

/** The directory of `saltclass` without a `path` (salt/pillar/saltclass.py). */
export const DEFAULT_CLASS_TREE = '/srv/saltclass';

/** The files of a saltclass tree; links are followed, as in Salt. A missing tree is empty. */
export class ClassTree {
  readonly classes: readonly string[];
  readonly nodes: readonly string[];
  readonly #root: string;
  #files = 0;

  /** @throws Error for a tree of more than 20,000 files or 32 nested directories */
  constructor(root: string) {
    this.#root = root;
    this.classes = this.#list('classes');
    this.nodes = this.#list('nodes');
  }

  /** The text of a file of the tree; undefined if it is missing, or above 1 MiB. */
  read(path: string): string | undefined {
    if (path.split('/').some((part) => part === '..' || part === '')) return undefined;
    const full = join(this.#root, path);
    const facts = statSync(full, { throwIfNoEntry: false });
    if (facts?.isFile() !== true || facts.size > MAX_FILE_BYTES) return undefined;
    return readFileSync(full, 'utf8');
  }

  #list(name: string): string[] {
    const dir = join(this.#root, name);
    const facts = statSync(dir, { throwIfNoEntry: false });
    return facts?.isDirectory() === true ? this.#walk(dir, '', 0, new Set()) : [];
  }

  /** Lists the files of a directory before those below it. */
  #walk(dir: string, prefix: string, depth: number, above: ReadonlySet<string>): string[] {
    if (depth > MAX_DEPTH) throw new Error(`saltclass: ${dir} is nested too deeply`);
    const real = realpathSync(dir);
    // A link to a directory that contains it would never end.
    if (above.has(real)) return [];
    const here = new Set([...above, real]);
    const files: string[] = [];
    const dirs: string[] = [];
    for (const name of readdirSync(dir).sort()) {
      const facts = statSync(join(dir, name), { throwIfNoEntry: false });
      if (facts?.isDirectory() === true) dirs.push(name);
      else if (facts?.isFile() === true) files.push(`${prefix}${name}`);
    }
    this.#files += files.length;
    if (this.#files > MAX_FILES) throw new Error(`saltclass: ${this.#root} has too many files`);
    const below = dirs.flatMap((name) =>
      this.#walk(join(dir, name), `${prefix}${name}/`, depth + 1, here),
    );
    return [...files, ...below];
  }
}
