import { stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { LRUCache } from 'lru-cache';
import { type FileBackend, type FileLists, type FoundFile, NO_FILES } from './backend.ts';
import { DirectoryTree, type TreeRules } from './directory-tree.ts';
import { mergeLists } from './merge-lists.ts';
import { normalPath, staysBelow } from './paths.ts';

/** Directories by environment, and the rules for their contents. */
export interface RootsOptions extends TreeRules {
  readonly fileRoots: Readonly<Record<string, readonly string[]>>;
}

/** The environment whose roots serve all that have none (salt/fileserver/roots.py). */
const ANY_ENV = '__env__';
/** Roots whose lists are kept; an environment has more than one only with `__env__`. */
const TREES_MAX = 256;

/** Salt's `roots` backend: directories of this host. */
export class RootsBackend implements FileBackend {
  readonly name = 'roots';
  readonly #options: RootsOptions;
  readonly #trees = new LRUCache<string, DirectoryTree>({ max: TREES_MAX });

  constructor(options: RootsOptions) {
    this.#options = options;
  }

  envs(): Promise<readonly string[]> {
    return Promise.resolve(Object.keys(this.#options.fileRoots).sort());
  }

  async find(
    asked: string,
    saltenv: string,
    query: ReadonlyMap<string, string>,
  ): Promise<FoundFile | undefined> {
    const path = normalPath(asked);
    if (path.startsWith('/') || path.includes('\0')) return undefined;
    let roots = this.#rootsOf(saltenv);
    const index = query.get('index');
    if (index !== undefined) {
      const root = /^[+-]?\d+$/.test(index) ? roots.at(Number(index)) : undefined;
      roots = root === undefined ? [] : [root];
    }
    for (const root of roots) {
      const full = posix.join(root, path);
      if (!(await staysBelow(root, full, !this.#options.followSymlinks))) continue;
      const stats = await stat(full).catch(() => undefined);
      if (stats?.isFile() !== true || this.#options.ignored(full)) continue;
      return { path: full, rel: path, stat: pythonStat(stats) };
    }
    return undefined;
  }

  async mayServe(file: FoundFile, saltenv: string): Promise<boolean> {
    for (const root of this.#rootsOf(saltenv)) {
      if (await staysBelow(root, file.path, !this.#options.followSymlinks)) return true;
    }
    return false;
  }

  async lists(saltenv: string): Promise<FileLists> {
    const roots = this.#rootsOf(saltenv);
    if (roots.length === 0) return NO_FILES;
    return mergeLists(await Promise.all(roots.map((root) => this.#treeOf(root).lists())));
  }

  forgetLists(saltenvs: readonly string[] | undefined): readonly string[] {
    const envs = Object.keys(this.#options.fileRoots).filter(
      (env) => env !== ANY_ENV && (saltenvs === undefined || saltenvs.includes(env)),
    );
    const listed = envs.filter((env) => this.#rootsOf(env).some((root) => this.#trees.has(root)));
    if (saltenvs === undefined) this.#trees.clear();
    else for (const root of saltenvs.flatMap((env) => this.#rootsOf(env))) this.#trees.delete(root);
    return listed.sort();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #rootsOf(saltenv: string): readonly string[] {
    const { fileRoots } = this.#options;
    if (Object.hasOwn(fileRoots, saltenv)) return fileRoots[saltenv] ?? [];
    const any = Object.hasOwn(fileRoots, ANY_ENV) ? fileRoots[ANY_ENV] : undefined;
    if (any === undefined || !isSafeEnv(saltenv)) return [];
    return any.map((root) => root.replaceAll(ANY_ENV, saltenv));
  }

  #treeOf(root: string): DirectoryTree {
    let tree = this.#trees.get(root);
    if (tree === undefined) {
      tree = new DirectoryTree(root, this.#options);
      this.#trees.set(root, tree);
    }
    return tree;
  }
}

/**
 * An environment becomes part of a path, and must not lead out of the operator's directory. Salt
 * does not check this.
 */
function isSafeEnv(saltenv: string): boolean {
  if (saltenv === '' || saltenv.includes('\0')) return false;
  return saltenv.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

function pythonStat(stats: Awaited<ReturnType<typeof stat>>): number[] {
  const { mode, ino, dev, nlink, uid, gid, size, atimeMs, mtimeMs, ctimeMs } = stats;
  const seconds = [atimeMs, mtimeMs, ctimeMs].map((ms) => Math.floor(Number(ms) / 1000));
  return [...[mode, ino, dev, nlink, uid, gid, size].map(Number), ...seconds];
}
