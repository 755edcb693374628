import { normalize } from 'node:path';

/** A file of an environment. */
interface Place {
  readonly saltenv: string;
  /** Below the roots. */
  readonly path: string;
}

/** The file of an environment at an absolute path, with `..` resolved, or undefined. */
export function placeBelow(
  roots: Readonly<Record<string, readonly string[]>>,
  path: string,
): Place | undefined {
  if (!path.startsWith('/')) return undefined;
  const file = normalize(path);
  for (const [saltenv, dirs] of Object.entries(roots)) {
    const starts = dirs.map((dir) => normalize(`${dir}/`));
    const start = starts.find((one) => one !== '/' && file.startsWith(one));
    if (start !== undefined) return { saltenv, path: file.slice(start.length) };
  }
  return undefined;
}
