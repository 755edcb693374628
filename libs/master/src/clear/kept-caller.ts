import { publisherAcl, readAcl } from '@brine/acl';
import { boolOf, listOf, mapOf, type SaltMap, textOf } from '@brine/wire';
import { minionCaller } from '../aes/peers.ts';
import type { MasterPorts } from '../ports/ports.ts';
import { type Caller, grantedRights } from './caller.ts';
import { aclToHandDown } from './new-job.ts';

/** A caller in the record of long work: no key, password or token. {@link callerNow} reads it. */
export function keptCaller(caller: Caller): SaltMap {
  const { kind, user, principal, acl, granted, via, localUser } = caller;
  return mapOf({
    kind,
    user,
    principal,
    via,
    free: acl === undefined,
    acl: acl === undefined ? undefined : aclToHandDown({ acl }),
    module: granted?.module,
    groups: granted && [...granted.groups],
    local_user: localUser,
  });
}

/**
 * The caller of long work with its current rights: the configuration may have changed since it
 * began. Undefined if it has none any more.
 */
export function callerNow(ports: MasterPorts, kept: SaltMap): Caller | undefined {
  const now = rightsNow(ports, kept);
  const via = textOf(kept, 'via');
  if (now === undefined || via === undefined) return now;
  return withinCall(ports, { ...now, via });
}

/** All rights, as a list: targets are still the caller's, and reveal no pillar. */
const FREE = readAcl(['.*', '@runner', '@wheel']);

/** A caller inside its call: with `brine.inner_calls: stock` everything is allowed. */
export function withinCall({ rules }: MasterPorts, caller: Caller, isOwn = false): Caller {
  const isFree = isOwn || rules.innerCalls === 'stock';
  return caller.acl !== undefined && isFree ? { ...caller, acl: FREE } : caller;
}

function rightsNow(ports: MasterPorts, kept: SaltMap): Caller | undefined {
  const kind = textOf(kept, 'kind');
  const user = textOf(kept, 'user');
  const principal = textOf(kept, 'principal');
  if (user === undefined || principal === undefined) return undefined;
  if (kind === 'minion') return minionCaller(ports, principal);
  if (kind !== 'user' && kind !== 'token' && kind !== 'eauth') return undefined;
  const localUser = textOf(kept, 'local_user');
  const local = localUser === undefined ? {} : { localUser };
  const who: Pick<Caller, 'kind' | 'user' | 'principal' | 'localUser'> = {
    kind,
    user,
    principal,
    ...local,
  };
  if (boolOf(kept, 'free') === true) return { ...who, acl: undefined };
  const module = textOf(kept, 'module');
  if (module !== undefined) {
    const groups = (listOf(kept, 'groups') ?? []).filter((name) => typeof name === 'string');
    return { ...who, ...grantedRights(ports, user, { module, groups }) };
  }
  const isOfKey = kind === 'user' || localUser !== undefined;
  if (!isOfKey) return { ...who, acl: readAcl(listOf(kept, 'acl') ?? []) };
  const acl = publisherAcl(ports.rules.access?.publisherAcl, user);
  // Elsewhere an empty list of a local key means all rights; here it means that they are gone.
  return acl.length === 0 ? undefined : { ...who, acl };
}
