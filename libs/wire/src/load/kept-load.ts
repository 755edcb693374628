import { mapIn, type SaltMap } from '../value.ts';

/**
 * Names of fields that prove a caller. A stock `salt` of root that finds a token also puts the
 * local key of root into `kwargs` (salt/cli/salt.py).
 */
const CREDENTIALS = ['key', 'token', 'password'] as const;

/** The load of a job without its caller's credentials, also in `kwargs`, so that it may be kept. */
export function withoutCredentials(load: SaltMap): SaltMap {
  const kept: SaltMap = new Map(load);
  for (const name of CREDENTIALS) kept.delete(name);
  const kwargs = mapIn(load, 'kwargs');
  if (kwargs === undefined) return kept;
  const shown: SaltMap = new Map(kwargs);
  for (const name of [...CREDENTIALS, 'auth_list']) shown.delete(name);
  return kept.set('kwargs', shown);
}
