import { aclValue, readsAll } from '@brine/acl';
import { mapOf, type SaltMap } from '@brine/wire';
import { authenticate, type ClearRequest, isStranger, refusalOf } from '../clear/caller.ts';
import { surelyMeant } from '../clear/expected-minions.ts';
import type { MasterPorts } from '../ports/ports.ts';

/**
 * Brine's own clear command `brine_rights`: the rights of its caller, for a service that shows what
 * the caller may read. Answers `{principal, acl, reach}`: `acl` is null for all rights, `reach` has
 * the minions of each target in it.
 */
export async function rights(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const caller = await authenticate(ports, request, load);
  if (isStranger(caller)) return refusalOf(caller);
  const { principal, acl } = caller;
  if (acl === undefined || readsAll(acl)) return mapOf({ principal, acl: null, reach: mapOf({}) });
  const meant = await surelyMeant(ports, acl);
  const targets = acl.flatMap((entry) =>
    entry.kind === 'on' && entry.target !== '*' && !entry.target.startsWith('@')
      ? [entry.target]
      : [],
  );
  const reach: SaltMap = new Map(
    [...new Set(targets)].map((target) => [target, [...meant(target)]]),
  );
  return mapOf({ principal, acl: aclValue(acl), reach });
}
