import { type SaltMap, textOf } from '@brine/wire';
import type { Vouched } from '../ports/login-ports.ts';
import type { MasterPorts, Request } from '../ports/ports.ts';

/**
 * Asks the login module that the credentials name, where the master's file has rights for it. What
 * waits for one takes no place of other requests.
 */
export async function logIn(
  ports: MasterPorts,
  request: Request,
  credentials: SaltMap,
): Promise<Vouched | undefined> {
  const module = textOf(credentials, 'eauth');
  const username = textOf(credentials, 'username');
  const password = textOf(credentials, 'password');
  if (module === undefined || !isEnabled(ports, module)) return undefined;
  if (username === undefined || password === undefined) return undefined;
  request.stepAside?.();
  return ports.logins.vouch(module, username, password, request.peer ?? request.gatewayHost);
}

/** Whether `external_auth` has rights for a login module. */
export function isEnabled({ rules }: MasterPorts, module: string): boolean {
  return Object.hasOwn(rules.access?.externalAuth ?? {}, module);
}
