import { matchGlob } from '@brine/target';
import { isMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { type HighData, textAt } from '../values.ts';

/** Removes ids and whole SLS files that `__exclude__` names (Salt: _apply_exclude). */
export function applyExclude(high: HighData): void {
  const excludes = high.get('__exclude__');
  high.delete('__exclude__');
  if (!Array.isArray(excludes)) return;
  const files: string[] = [];
  const ids: SaltValue[] = [];
  for (const exclude of excludes) {
    if (typeof exclude === 'string') files.push(exclude);
    if (!isMap(exclude) || exclude.size !== 1) continue;
    if (exclude.has('sls')) files.push(textAt(exclude, 'sls'));
    else if (exclude.has('id')) ids.push(exclude.get('id') ?? null);
  }
  for (const [id, body] of high) {
    if (pyStr(id).startsWith('__') || !isMap(body)) continue;
    const sls = textAt(body, '__sls__');
    if (sls !== '' && files.some((file) => matchGlob(file, sls))) ids.push(id);
  }
  for (const id of ids) high.delete(id);
}
