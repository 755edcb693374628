import { readdir, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { compileGlob } from '@brine/target';

/**
 * The directories of a root of `file_roots` with a glob (salt/config `_expand_glob_path`, Python's
 * `glob.glob`: names with a leading dot only if the glob has one). A root without `*`, `?`, `[`
 * stays as it is.
 */
export async function expandRoots(roots: readonly string[]): Promise<string[]> {
  const expanded = await Promise.all(
    roots.map((root) => (MAGIC.test(root) ? expandGlob(root) : Promise.resolve([root]))),
  );
  return expanded.flat();
}

const MAGIC = /[*?[]/;

async function expandGlob(root: string): Promise<string[]> {
  const [first = '', ...parts] = root.split('/');
  let found = [first === '' ? '/' : first];
  if (MAGIC.test(first)) found = await namesIn('.', first);
  for (const part of parts) {
    if (part === '') continue;
    if (!MAGIC.test(part)) {
      found = found.map((path) => posix.join(path, part));
      continue;
    }
    const below = found.map(async (path) =>
      (await namesIn(path, part)).map((name) => posix.join(path, name)),
    );
    found = (await Promise.all(below)).flat();
  }
  const there = await Promise.all(
    found.map(async (path) =>
      (await stat(path).catch(() => undefined)) === undefined ? [] : [path],
    ),
  );
  return there.flat();
}

async function namesIn(path: string, glob: string): Promise<string[]> {
  const matches = compileGlob(glob);
  const names = await readdir(path).catch(() => []);
  return names.filter((name) => matches(name) && (glob.startsWith('.') || !name.startsWith('.')));
}
