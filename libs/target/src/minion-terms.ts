import type { Comparison } from './subdict.ts';
import { compileSubdict, DEFAULT_DELIMITER } from './subdict.ts';
import type { Work } from './work.ts';

/** True where the id is in a list, or in text with commas (Salt: salt/matchers/list_match.py). */
export function inList(tgt: unknown, id: string): boolean {
  if (Array.isArray(tgt)) return tgt.includes(id);
  if (typeof tgt !== 'string') return false;
  return (
    tgt === id || tgt.startsWith(`${id},`) || tgt.endsWith(`,${id}`) || tgt.includes(`,${id},`)
  );
}

/** Matches `key:value` against grains or pillar. @throws WorkError. */
export function matchPath(
  tgt: unknown,
  data: unknown,
  comparison: Comparison,
  {
    delimiter = DEFAULT_DELIMITER,
    work,
  }: { readonly delimiter?: string | undefined; readonly work?: Work } = {},
): boolean {
  return typeof tgt === 'string' && compileSubdict(tgt, comparison, delimiter, work)(data, work);
}
