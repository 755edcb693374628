import { buildErrorReply, textOf, type SaltMap } from '@brine/wire';
import type { MasterPorts } from '../ports.ts';
import { authenticateKey } from './principal.ts';

/**
 * Refusal of `runner` and `wheel` (salt/auth/__init__.py `check_authentication`), undefined when
 * the caller holds a full local key. Texts and their odd full stops are Salt's.
 */
export async function refuseUnauthenticated(
  ports: MasterPorts,
  load: SaltMap,
): Promise<SaltMap | undefined> {
  if (load.has('token')) {
    return refusal('Token', 'Authentication failure of type "token" occurred.');
  }
  if (load.has('eauth')) {
    const user = textOf(load, 'username') ?? 'UNKNOWN';
    return refusal('Eauth', `Authentication failure of type "eauth" occurred for user ${user}.`);
  }
  const principal = await authenticateKey(ports, load);
  if (principal?.full === true) return undefined;
  return refusal('User', 'Authentication failure of type "user" occurred');
}

function refusal(kind: string, message: string): SaltMap {
  return buildErrorReply(`${kind}AuthenticationError`, message);
}
