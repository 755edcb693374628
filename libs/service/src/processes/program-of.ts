import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Where `tools/bundle.mjs` puts a program joined from many files, and the list of those. */
const JOINED = join('dist', 'joined');
const MADE_OF = 'made-of.json';

/**
 * The file that starts an app. A joined file starts in a third of the CPU time, so it is used if it
 * is newer than the last build. Otherwise it is the compiler's output.
 * @param appsDir the directory of the apps
 * @param file the name of its entry below `dist`, as `main.js`
 */
export function programOf(appsDir: string, app: string, file = 'main.js'): string {
  const joined = join(appsDir, app, JOINED);
  return isFresh(appsDir, joined) ? join(joined, file) : join(appsDir, app, 'dist', file);
}

function isFresh(appsDir: string, joined: string): boolean {
  const list = join(joined, MADE_OF);
  if (!existsSync(list)) return false;
  const madeAt = statSync(list).mtimeMs;
  const paths = JSON.parse(readFileSync(list, 'utf8')) as readonly string[];
  return paths.every((path) => {
    const found = statSync(join(appsDir, '..', path), { throwIfNoEntry: false });
    return found !== undefined && found.mtimeMs <= madeAt;
  });
}
