import { join, resolve } from 'node:path';
import { camelCase, isOption, type OptionTable } from './option.ts';

/**
 * Puts `root_dir` before the paths of a table, as Salt does (salt/config prepend_root_dir).
 * Absolute paths are moved as well, unless they are already below `root_dir`: Salt treats them as
 * relative to its own root `/`. A URI (`file:///dev/log`) stays.
 */
export function placeUnderRoot(
  table: OptionTable,
  values: Record<string, unknown>,
  rootDir: string,
): void {
  const root = resolve(rootDir);
  for (const [name, entry] of Object.entries(table)) {
    if (!isOption(entry) || entry.underRoot !== true) continue;
    const key = camelCase(name);
    const path = values[key];
    if (typeof path !== 'string' || path === '' || /^[a-z][a-z0-9+.-]*:/i.test(path)) continue;
    const below = path === root || path.startsWith(root === '/' ? root : `${root}/`);
    values[key] = below ? path : join(root, path);
  }
}
