import { type Acl, type FunctionRule, isBlacklisted, mayPublish } from '@brine/acl';
import { listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { PublishRequest } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';
import type { Caller } from './caller.ts';
import { surelyMeant } from './expected-minions.ts';
import { isMastersKey, SUDO_PREFIX } from './principal.ts';

/** Needs no right: how a CLI asks whether a job still runs (salt/master.py ClearFuncs.publish). */
export const ALWAYS: ReadonlySet<string> = new Set(['saltutil.find_job']);

/** Whether `publisher_acl_blacklist` names the user, by whichever name, or a function. */
export function refusedByBlacklist(
  { rules }: MasterPorts,
  names: readonly string[],
  fun: string | readonly string[],
): boolean {
  const all = names.flatMap((name) =>
    name.startsWith(SUDO_PREFIX) ? [name, name.slice(SUDO_PREFIX.length)] : [name],
  );
  return isBlacklisted(rules.publisherAclBlacklist, all, typeof fun === 'string' ? [fun] : fun);
}

/**
 * The rights of the user of a master above, which its syndic hands down and only the master's
 * own user may (salt/master.py ClearFuncs.publish).
 */
export function handedDown(ports: MasterPorts, load: SaltMap, kwargs: SaltMap | undefined) {
  const list = kwargs && listOf(kwargs, 'auth_list');
  return list !== undefined && isMastersKey(ports, textOf(load, 'key') ?? '') ? list : undefined;
}

/** The rights of a caller as lower masters take them; none where nothing is forbidden. */
export function aclToHandDown({ acl }: Caller): SaltValue[] {
  return (acl ?? []).map((entry) =>
    entry.kind === 'everywhere'
      ? entry.expression
      : mapOf({ [entry.target]: entry.rules.map(ruleToHandDown) }),
  );
}

function ruleToHandDown(rule: FunctionRule): SaltValue {
  if (rule.arguments === undefined) return rule.fun;
  const limits = rule.arguments.map(({ args, kwargs }) =>
    mapOf({ args: [...args], kwargs: new Map(kwargs) }),
  );
  return mapOf({ [rule.fun]: limits });
}

/** What of a publish's keywords may be stored and shown. */
export function withoutSecrets(kwargs: SaltMap): SaltMap {
  const kept = new Map(kwargs);
  for (const name of ['token', 'password', 'auth_list']) kept.delete(name);
  return kept;
}

/** Whether a list of rights covers a job for these minions. */
export async function coversJob(
  ports: MasterPorts,
  acl: Acl,
  asked: Pick<PublishRequest, 'fun' | 'arg'>,
  minions: readonly string[],
  always: ReadonlySet<string> = ALWAYS,
): Promise<boolean> {
  const matching = await surelyMeant(ports, acl);
  return mayPublish(acl, asked, { minions, beyond: ports.rules.orderMasters, matching }, always);
}
