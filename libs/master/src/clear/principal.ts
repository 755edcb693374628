import { constantTimeEqual } from '@brine/crypt';
import { textOf, type SaltMap } from '@brine/wire';
import type { MasterPorts } from '../ports.ts';

/** Who asks, after the key was checked. */
export interface Principal {
  /** The user whose rights count (`bob` for `sudo_bob`). */
  readonly user: string;
  /** True when the caller holds a key of root or of the master's user: no ACL applies. */
  readonly full: boolean;
}

const SUDO_PREFIX = 'sudo_';

/**
 * Checks a local key (salt/auth/__init__.py `authenticate_key`). The keys are those that the
 * event-bus of each host wrote to `<cachedir>/.<user>_key`. Undefined means refused.
 * A key that is not known yet is looked up once more at the source before it is refused,
 * because a host that has just started hands out keys this worker may not have seen.
 */
export async function authenticateKey(
  ports: MasterPorts,
  load: SaltMap,
): Promise<Principal | undefined> {
  const key = textOf(load, 'key');
  if (key === undefined || key === '') return undefined;
  const user = textOf(load, 'user');
  const known = checkKey(ports, key, user);
  if (known !== undefined) return known;
  await ports.userKeys.refresh();
  return checkKey(ports, key, user);
}

function checkKey(
  ports: MasterPorts,
  key: string,
  user: string | undefined,
): Principal | undefined {
  const { userKeys, rules } = ports;
  const holds = (keys: readonly string[]): boolean =>
    keys.reduce((found, known) => constantTimeEqual(known, key) || found, false);
  if (user === undefined) {
    return holds(userKeys.all()) ? { user: '', full: true } : undefined;
  }
  if (user.startsWith(SUDO_PREFIX)) {
    if (!holds(userKeys.all())) return undefined;
    return { user: user.slice(SUDO_PREFIX.length), full: true };
  }
  if (user === rules.user || user === 'root') {
    return holds(userKeys.all()) ? { user, full: true } : undefined;
  }
  if (user === rules.runningUser) {
    return holds(userKeys.of(user)) ? { user, full: true } : undefined;
  }
  if (holds(userKeys.of('root')) || holds(userKeys.of(rules.user))) return { user, full: true };
  return holds(userKeys.of(user)) ? { user, full: false } : undefined;
}
