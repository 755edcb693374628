import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { isSystemError } from '@brine/files';
import { EXIT, Exit } from '../exit-codes.ts';

/** A file to be copied. */
export interface SourceFile {
  readonly path: string;
  /** The bits of chmod. */
  readonly mode: number;
}

/** The content of the sources of `salt-cp -C`. */
export interface SourceTree {
  readonly files: readonly SourceFile[];
  readonly emptyDirs: readonly string[];
}

/** Maximum of files and empty directories of a command. Use the file server for more. */
const ENTRIES_MAX = 100_000;

interface Walk {
  readonly files: Map<string, SourceFile>;
  readonly emptyDirs: Set<string>;
  readonly print: (text: string) => void;
}

/**
 * Lists the sources and everything below them. Links are followed, as in Salt. A link to a
 * directory above itself is skipped with a line (Salt: salt/cli/cp.py _recurse).
 * @param print prints a line for each skipped path
 * @throws Exit 42 for a path that does not exist, 1 for more than 100,000 entries.
 */
export async function listSources(
  sources: readonly string[],
  print: (text: string) => void,
): Promise<SourceTree> {
  const walk: Walk = { files: new Map(), emptyDirs: new Set(), print };
  for (const source of sources) await visit(source, walk, new Set());
  return { files: [...walk.files.values()], emptyDirs: [...walk.emptyDirs].sort() };
}

async function visit(path: string, walk: Walk, above: ReadonlySet<string>): Promise<void> {
  if (walk.files.size + walk.emptyDirs.size >= ENTRIES_MAX) {
    throw new Exit(EXIT.generic, `salt-cp: more than ${ENTRIES_MAX} files\n`);
  }
  try {
    const found = await stat(path);
    if (found.isFile()) {
      walk.files.set(path, { path, mode: found.mode & 0o7777 });
      return;
    }
    if (!found.isDirectory()) {
      walk.print(`${path} is no regular file: it is not copied`);
      return;
    }
    await visitDirectory(path, walk, above);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (isSystemError(error, 'ENOENT')) {
      throw new Exit(EXIT.incomplete, `${path} does not exist\n`);
    }
    walk.print(`${path} cannot be read (${String(error.code)}): it is not copied`);
  }
}

async function visitDirectory(path: string, walk: Walk, above: ReadonlySet<string>): Promise<void> {
  const real = await realpath(path);
  if (above.has(real)) {
    walk.print(`${path} is a link to a directory above it: it is not copied`);
    return;
  }
  const names = (await readdir(path)).sort();
  if (names.length === 0) walk.emptyDirs.add(path);
  const within = new Set([...above, real]);
  for (const name of names) await visit(join(path, name), walk, within);
}

/** True if `dest` gets several files, or ends like a directory. */
export function goesIntoDirectory({ files, emptyDirs }: SourceTree, dest: string): boolean {
  return emptyDirs.length > 0 || files.length > 1 || /[\\/]$/.test(dest);
}

/** Path of a file or an empty directory on the minion. */
export function remotePath(
  path: string,
  { sources, dest }: { readonly sources: readonly string[]; readonly dest: string },
  intoDirectory: boolean,
): string {
  if (sources.includes(path)) return intoDirectory ? under(dest, basename(path)) : dest;
  for (const source of sources) {
    const inner = relative(source, path);
    if (!inner.startsWith('../')) return under(dest, `${basename(source)}/${inner}`);
  }
  throw new Error(`${path} is below no source`);
}

/** Python's os.path.join. */
function under(dir: string, name: string): string {
  return dir === '' || dir.endsWith('/') ? dir + name : `${dir}/${name}`;
}
