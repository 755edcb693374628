import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy } from '@brine/wire/text';

/** The changes in the results of an orchestration (Salt: saltmod.py extract_changes). */
export function nestedChanges(value: SaltValue): SaltValue {
  if (!isMap(value)) return mapOf({});
  const changes = value.get('changes');
  if (changes !== undefined) {
    const isStates = isMap(changes) && changes.get('out') === 'highstate';
    return isStates ? (changes.get('ret') ?? changes) : changes;
  }
  const found: SaltMap = new Map();
  for (const [key, one] of value) {
    const inner = nestedChanges(one);
    if (isTruthy(inner)) found.set(key, inner);
  }
  return found;
}

/** The comment of a step about failed runners. */
export function parallelComment(failed: readonly string[]): string {
  const [only = ''] = failed;
  return failed.length === 1 ? `Runner ${only} failed.` : `Runners ${failed.join(', ')} failed.`;
}
