import type { HostTree } from '../host-ports.ts';

/** Relative paths of the files in a tree. */
export function filesIn(tree: HostTree, prefix = ''): string[] {
  return [...tree].flatMap(([name, kept]) =>
    kept === 'f' ? [`${prefix}${name}`] : filesIn(kept, `${prefix}${name}/`),
  );
}
