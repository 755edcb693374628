import { posix } from 'node:path';
import { Gate } from '@brine/tasks';
import type { FileLists } from './backend.ts';
import { type Scan, scanDirectory } from './directory-scan.ts';
import type { Ignored } from './ignore.ts';
import { byCodePoint, normalPath, realPath } from './paths.ts';

/** The rules for links and ignored paths, for all trees of a master. */
export interface TreeRules {
  readonly followSymlinks: boolean;
  readonly ignoreSymlinks: boolean;
  readonly ignored: Ignored;
  /** Salt's `fileserver_list_cache_time`, in ms: an older directory is read again. */
  readonly listCacheMs: number;
  /** Called once when a tree has more files than a list may have. */
  readonly onTooLarge: (root: string) => void;
}

/** Directories scanned at once. */
const SCANS_MAX = 16;
/** Most paths in the list of a tree. */
export const PATHS_MAX = 500_000;
/** Younger listings are not checked again: a highstate asks for several in a row. */
const FRESH_MS = 200;

interface Visit {
  readonly path: string;
  readonly rel: string;
  /** Nodes of the parent directories. */
  readonly above: readonly string[];
  /** Listed without its contents: a link that is not followed. */
  readonly leaf: boolean;
}

interface Seen {
  readonly visit: Visit;
  readonly scan: Scan;
}

/**
 * A root of `file_roots`. Each directory is read once, then only its times are checked: they change
 * when an entry is added, removed or renamed.
 */
export class DirectoryTree {
  readonly #root: string;
  readonly #rules: TreeRules;
  readonly #gate = new Gate(SCANS_MAX);
  #scans = new Map<string, Scan>();
  #lists: FileLists | undefined;
  #checkedAt = -Infinity;
  #checking: Promise<FileLists> | undefined;
  #tooLarge = false;

  constructor(root: string, rules: TreeRules) {
    this.#root = root;
    this.#rules = rules;
  }

  /** All paths below the root, sorted. */
  lists(): Promise<FileLists> {
    if (this.#lists !== undefined && performance.now() - this.#checkedAt < FRESH_MS) {
      return Promise.resolve(this.#lists);
    }
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #check(): Promise<FileLists> {
    const startedAt = performance.now();
    const seen = await this.#walk();
    const scans = new Map(seen.map(({ visit, scan }) => [visit.path, scan]));
    const same =
      scans.size === this.#scans.size &&
      [...scans].every(([path, scan]) => this.#scans.get(path) === scan);
    if (this.#lists === undefined || !same) this.#lists = await this.#listsOf(seen);
    this.#scans = scans;
    this.#checkedAt = startedAt;
    return this.#lists;
  }

  async #walk(): Promise<Seen[]> {
    const seen: Seen[] = [];
    let level: Visit[] = [{ path: this.#root, rel: '', above: [], leaf: false }];
    let paths = 0;
    while (level.length > 0) {
      const scans = await Promise.all(
        level.map((visit) =>
          this.#gate.run(() =>
            scanDirectory(visit.path, this.#scans.get(visit.path), this.#rules.listCacheMs),
          ),
        ),
      );
      const next: Visit[] = [];
      for (const [index, visit] of level.entries()) {
        const scan = scans[index];
        if (scan === undefined) continue;
        paths += scan.entries.length;
        if (paths > PATHS_MAX) {
          this.#reportTooLarge();
          return seen;
        }
        seen.push({ visit, scan });
        if (!visit.leaf) next.push(...this.#below(visit, scan));
      }
      level = next;
    }
    return seen;
  }

  #below(visit: Visit, scan: Scan): Visit[] {
    // A link to a parent directory would be followed until the kernel refuses.
    if (visit.above.includes(scan.node)) return [];
    const above = [...visit.above, scan.node];
    return scan.entries
      .filter((entry) => entry.isDirectory)
      .map(({ name, link }) => ({
        path: posix.join(visit.path, name),
        rel: posix.join(visit.rel, name),
        above,
        leaf: link !== undefined && !this.#rules.followSymlinks,
      }));
  }

  async #listsOf(seen: readonly Seen[]): Promise<FileLists> {
    const { ignored, ignoreSymlinks } = this.#rules;
    const files: string[] = [];
    const dirs: string[] = [];
    const emptyDirs: string[] = [];
    const links = new Map<string, string>();
    const isEmpty = new Set(
      seen.filter(({ scan }) => scan.entries.length === 0).map(({ visit }) => visit.rel),
    );
    const realRoot = await realPath(normalPath(this.#root));
    for (const { visit, scan } of seen) {
      // A link that is not followed does not make its directory non-empty.
      if (visit.leaf) continue;
      if (visit.above.includes(scan.node)) continue;
      for (const entry of scan.entries) {
        const rel = posix.join(visit.rel, entry.name);
        if ((entry.link !== undefined && ignoreSymlinks) || ignored(rel)) continue;
        (entry.isDirectory ? dirs : files).push(rel);
        if (entry.isDirectory && isEmpty.has(rel)) emptyDirs.push(rel);
        if (entry.link === undefined) continue;
        const inside = await this.#staysInside(
          posix.join(visit.path, entry.name),
          entry.link,
          realRoot,
        );
        if (inside || !this.#rules.followSymlinks) links.set(rel, entry.link);
      }
    }
    return {
      files: files.sort(byCodePoint),
      dirs: dirs.sort(byCodePoint),
      emptyDirs: emptyDirs.sort(byCodePoint),
      links,
    };
  }

  /**
   * True if a link points below the root by Salt's rule: a target that begins with `..` is resolved
   * from the link itself, not from its directory (salt/fileserver/roots.py).
   */
  async #staysInside(at: string, link: string, realRoot: string): Promise<boolean> {
    const from = link.startsWith('..') ? at : posix.dirname(at);
    const target = await realPath(normalPath(posix.resolve(from, link)));
    return !posix.relative(realRoot, target).startsWith('..');
  }

  #reportTooLarge(): void {
    if (!this.#tooLarge) this.#rules.onTooLarge(this.#root);
    this.#tooLarge = true;
  }
}
