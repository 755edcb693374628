import { createHash } from 'node:crypto';
import { mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';

/** The field of a `publish` that names the minions that its caller has seen counted. */
export const EXPECT = 'brine_expect';

/** Names a set of minions: it differs as soon as one comes or goes. */
export function targetDigest(minions: readonly string[]): string {
  return createHash('sha256')
    .update([...minions].sort().join('\n'))
    .digest('base64url');
}

/**
 * The refusal of a publish whose minions are not those that its caller has seen counted, with their
 * number and digest now; undefined if they are, or if it named none.
 */
export function changedTarget(load: SaltMap, minions: readonly string[]): SaltMap | undefined {
  const expect = mapIn(load, EXPECT);
  if (expect === undefined) return undefined;
  const digest = targetDigest(minions);
  const count = minions.length;
  const wanted = textOf(expect, 'digest');
  if (expect.get('count') === count && (wanted === undefined || wanted === digest)) {
    return undefined;
  }
  const message = 'The target has changed since it was counted';
  return mapOf({ error: mapOf({ name: 'TargetChangedError', message, count, digest }) });
}
