import { type FileLists, NO_FILES } from './backend.ts';
import { byCodePoint } from './paths.ts';

/** Joins the lists of several places. If two have a link of one name, the last one counts. */
export function mergeLists(parts: readonly FileLists[]): FileLists {
  const [only = NO_FILES] = parts;
  if (parts.length <= 1) return only;
  return {
    files: union(parts.map((part) => part.files)),
    dirs: union(parts.map((part) => part.dirs)),
    emptyDirs: union(parts.map((part) => part.emptyDirs)),
    links: new Map(parts.flatMap((part) => [...part.links])),
  };
}

function union(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())].sort(byCodePoint);
}
