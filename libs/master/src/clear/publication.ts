import { type Jid, publishingPart, traceparentOf } from '@brine/job';
import { boolOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { buildPublishedJob, type PublishRequest } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';
import { aclToHandDown, withoutSecrets } from './authorise.ts';
import type { Caller } from './caller.ts';
import type { Expected } from './expected-minions.ts';

/** Names of publish kwargs that go on into the publication (salt/master.py `_prep_pub`). */
const PASSED_ON = ['ret_config', 'ret_kwargs', 'metadata', 'module_executors', 'executor_opts'];

/** Everything that a job is made of. */
export interface Prepared {
  readonly load: SaltMap;
  readonly asked: PublishRequest;
  readonly caller: Caller;
  /** Rights that a master above handed down. */
  readonly handed: SaltValue[] | undefined;
  readonly expected: Expected;
  readonly jid: Jid;
  readonly piece: string | undefined;
}

/** Who logged in counts as the user; a key says who called (salt/master.py ClearFuncs.publish). */
export function userOf({ asked, caller }: Prepared): string | undefined {
  return caller.kind === 'user' ? asked.user : caller.user;
}

/** What is stored of the load: no key, password or token. */
export function loadToKeep(load: SaltMap, jid: Jid, user: string | undefined): SaltMap {
  const kept = new Map(load).set('jid', jid);
  kept.delete('key');
  if (user !== undefined) kept.set('user', user);
  const kwargs = mapIn(load, 'kwargs');
  if (kwargs !== undefined) kept.set('kwargs', withoutSecrets(kwargs));
  return kept;
}

/**
 * The inner load of a publication, without `serial`: that is the publisher's (salt/master.py
 * `_prep_pub`).
 */
export function publicationOf(ports: MasterPorts, prepared: Prepared): SaltMap {
  const { asked, jid, piece } = prepared;
  const { fun, arg, tgt, tgtType, ret, traceparent } = asked;
  const user = userOf(prepared);
  const kwargs = asked.kwargs ?? mapOf({});
  const delimiter = textOf(kwargs, 'delimiter');
  const rest = mapOf({ master_id: textOf(kwargs, 'master_id') ?? ports.rules.masterId });
  if (ports.rules.orderMasters) {
    // A stock syndic takes it for a number, and its own time-out where it is not there.
    if (asked.to !== undefined) rest.set('to', asked.to);
    rest.set('auth_list', prepared.handed ?? aclToHandDown(prepared.caller));
  }
  for (const name of PASSED_ON) {
    const value = kwargs.get(name);
    if (value !== undefined) rest.set(name, value);
  }
  if (boolOf(kwargs, 'start_event') === true) rest.set('start_event', true);
  const own = ports.rules.tracePublications === true;
  const context = own ? traceparentOf(jid, publishingPart('publish', piece)) : traceparent;
  if (context !== undefined) rest.set('traceparent', context);
  return buildPublishedJob({
    fun,
    arg,
    tgt,
    tgtType,
    jid,
    ret,
    rest,
    ...(user === undefined ? {} : { user }),
    ...(delimiter === undefined || delimiter === ':' ? {} : { delimiter }),
  });
}
