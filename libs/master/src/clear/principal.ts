import { constantTimeEqual } from '@brine/crypt';
import { type SaltMap, textOf } from '@brine/wire';
import type { MasterPorts } from '../ports/ports.ts';
import type { Request } from '../ports/ports.ts';

/** How somebody proved who he is. */
export type CallerKind = 'token' | 'eauth' | 'user';

/** Who was proven to ask, and by what. */
export interface Proven {
  readonly kind: CallerKind;
  /** Owner of the local key, the token or the login, whatever the load calls itself. */
  readonly principal: string;
}

/** Is told who was proven to ask: as soon as that is known, whatever becomes of the request. */
export type OnProven = (who: Proven) => void;

/** A request in the clear, and who is to be told whose it is. */
export interface ClearRequest extends Request {
  readonly onProven?: OnProven;
}

/** Who holds a local key. */
export interface KeyHolder {
  /** The user whose rights count (`bob` for `sudo_bob`). */
  readonly user: string;
  /** Whose key it is, whatever the load says. */
  readonly owner: string;
  /** Whether the key gives all rights, or those of `publisher_acl`. */
  readonly full: boolean;
}

/** How a client names who called it by sudo (salt/auth/__init__.py AuthUser). */
export const SUDO_PREFIX = 'sudo_';

/**
 * Checks a local key (salt/auth/__init__.py `authenticate_key`). The keys are those that the
 * event-bus of each host wrote to `<cachedir>/.<user>_key`. Undefined means refused.
 *
 * Salt lets whoever calls himself root, `sudo_…` or nobody in by any key, also that of a user
 * with few rights in `publisher_acl`; here that takes a key of root or of the master's own user.
 *
 * A key that is not known yet is looked up once more at the source before it is refused,
 * because a host that has just started hands out keys this worker may not have seen.
 */
export async function authenticateKey(
  ports: MasterPorts,
  load: SaltMap,
): Promise<KeyHolder | undefined> {
  const key = textOf(load, 'key');
  if (key === undefined || key === '') return undefined;
  const user = textOf(load, 'user');
  const known = checkKey(ports, key, user);
  if (known !== undefined) return known;
  await ports.userKeys.refresh();
  return checkKey(ports, key, user);
}

/** Whether this is a key of root, of the master's user, or of whom the master runs as. */
export function isMastersKey(ports: MasterPorts, key: string): boolean {
  return masterOfKey(ports, key) !== undefined;
}

/** Which of them it is a key of. */
function masterOfKey({ userKeys, rules }: MasterPorts, key: string): string | undefined {
  const users = [...new Set(['root', rules.user, rules.runningUser])];
  return users.filter((user) => holds(userKeys.of(user), key)).at(0);
}

function checkKey(
  ports: MasterPorts,
  key: string,
  user: string | undefined,
): KeyHolder | undefined {
  const owner = masterOfKey(ports, key);
  if (user === undefined) return owner === undefined ? undefined : { user: '', owner, full: true };
  if (user.startsWith(SUDO_PREFIX)) {
    if (owner === undefined) return undefined;
    const access = ports.rules.access;
    const limited = access?.sudoAcl === true && Object.keys(access.publisherAcl).length > 0;
    return { user: user.slice(SUDO_PREFIX.length), owner, full: !limited };
  }
  if (owner !== undefined) return { user, owner, full: true };
  const { user: own, runningUser } = ports.rules;
  if (user === 'root' || user === own || user === runningUser) return undefined;
  return holds(ports.userKeys.of(user), key) ? { user, owner: user, full: false } : undefined;
}

/** Looks at all of them, so that the time tells nothing. */
function holds(keys: readonly string[], key: string): boolean {
  return keys.reduce((found, known) => constantTimeEqual(known, key) || found, false);
}
