import { userInfo } from 'node:os';
import { type HostUser, lookupUser } from '@brine/cachedir';
import { StartRefusal } from './start-refusal.ts';

/** The account that a master runs as. */
export interface Account extends HostUser {
  readonly name: string;
  /** True if this process has to switch to it: it is root, and the account is not. */
  readonly isOther: boolean;
}

/** Salt: EX_NOUSER of salt/defaults/exitcodes.py. */
const EX_NOUSER = 67;

/**
 * The account of the option `user` (Salt: salt/utils/verify.py check_user).
 * @throws StartRefusal if it does not exist, or this process may not switch to it
 */
export async function accountOf(user: string): Promise<Account> {
  const uid = process.getuid?.() ?? -1;
  const gid = process.getgid?.() ?? -1;
  const own = ownName();
  if (user === own || user === String(uid)) {
    return { name: user, uid, gid, home: '', shell: '', isOther: false };
  }
  const found = await lookupUser(user);
  if (found === undefined) {
    const text = `Failed to prepare the Salt environment for user ${user}.`;
    throw new StartRefusal(EX_NOUSER, `${text} The user is not available.`);
  }
  if (found.uid === uid) return { ...found, name: user, isOther: false };
  if (uid === 0) return { ...found, name: user, isOther: true };
  throw new StartRefusal(
    1,
    `user is ${user}, and this process runs as ${own ?? uid}: only root can change to ${user}. ` +
      `Start it as ${[...new Set(['root', user])].join(' or as ')}, or set user: ${own ?? uid}`,
  );
}

/** Drops the rights of root permanently (Salt: check_user). No privileged file may be open. */
export function becomeAccount({ name, uid, gid, home, shell }: Account): void {
  initgroups(name, gid);
  process.setgid?.(gid);
  process.setuid?.(uid);
  for (const [variable, value] of [
    ['HOME', home],
    ['SHELL', shell],
    ['USER', name],
    ['LOGNAME', name],
  ] as const) {
    if (process.env[variable] !== undefined) process.env[variable] = value;
  }
  // The account may have no access to root's working directory (Salt: salt/master.py _pre_flight).
  process.chdir('/');
}

/** Missing in Node's types, but present on every POSIX system. */
function initgroups(name: string, gid: number): void {
  const own = process as unknown as { readonly initgroups: (name: string, gid: number) => void };
  own.initgroups(name, gid);
}

function ownName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined; // A user id without an entry, as in containers.
  }
}
