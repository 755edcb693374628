import type { Filter } from '../environment.ts';
import { JinjaError, typeError } from '../errors.ts';
import { str } from '../python/text.ts';
import { type CallArguments, typeName, Undefined } from '../python/values.ts';

/** Salt's filters for paths (Salt: salt/utils/path.py). */
export const PATH_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['path_join', (value, args) => joined(value, args)],
]);

/** Joins parts; later ones count as relative, even with a leading slash. */
function joined(first: unknown, { positional, named }: CallArguments): string {
  const [root = '', ...parts] = [first, ...positional].map((part) => normal(pathText(part)));
  const odd = [...named].filter(([name]) => name !== 'use_posixpath' && !name.startsWith('__'));
  if (odd.length > 0) {
    const shown = odd.map(([name, value]) => `${name}=${str(value)}`).join(', ');
    const text = `The following keyword arguments are not valid: ${shown}`;
    throw new JinjaError('SaltFunction', text);
  }
  return normal([root, ...parts.map((part) => part.replace(/^\/+/, ''))].join('/'));
}

function pathText(part: unknown): string {
  if (typeof part === 'string') return part;
  if (part instanceof Uint8Array) return Buffer.from(part).toString('utf8');
  const type = part instanceof Undefined ? 'jinja2.runtime.StrictUndefined' : typeName(part);
  throw typeError(`expected str, bytes, or bytearray not <class '${type}'>`);
}

/** Normalises as Python's posixpath.normpath: two leading slashes stay, three become one. */
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
