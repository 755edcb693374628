import type { Filter } from '../environment.ts';
import { typeError } from '../errors.ts';
import { str } from '../python/text.ts';
import { type CallArguments, truth } from '../python/values.ts';

/** Salt's filters for paths (Salt: salt/utils/path.py). */
export const PATH_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['path_join', (value, args) => joined(value, args)],
]);

/** Later parts count as relative, whatever they begin with. */
function joined(first: unknown, { positional, named }: CallArguments): string {
  const odd = [...named.keys()].find((name) => name !== 'use_posixpath');
  if (odd !== undefined) {
    throw typeError(`The following keyword arguments are not valid: ${odd}=${str(named.get(odd))}`);
  }
  truth(named.get('use_posixpath')); // All paths here are those of POSIX.
  const [root = '', ...parts] = [first, ...positional].map((part) => normal(str(part)));
  return normal([root, ...parts.map((part) => part.replace(/^\/+/, ''))].join('/'));
}

/** As Python's posixpath.normpath: two slashes in front stay two, three are one. */
function normal(path: string): string {
  const slashes = /^\/\/(?!\/)/.test(path) ? '//' : path.startsWith('/') ? '/' : '';
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..' || (slashes === '' && (kept.length === 0 || kept.at(-1) === '..'))) {
      kept.push(part);
    } else kept.pop();
  }
  return slashes + kept.join('/') || '.';
}
