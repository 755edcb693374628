import { userInfo } from 'node:os';

/**
 * The reason why a service that is started alone must not run: it is root, and `user` names another
 * account. `brine master` changes to that user by itself. Undefined if all is well.
 */
export function refusedAsRoot(
  user: string,
  who: { readonly uid: number | undefined; readonly name: string | undefined } = processUser(),
): string | undefined {
  if (who.uid !== 0 || ['root', '0', who.name].includes(user)) return undefined;
  return [
    `user is ${user}, and this process is root: it would have all rights for nothing.`,
    `Start it as ${user} (systemd: User=${user}; by hand: sudo -u ${user} …),`,
    'or set user: root if that is intended',
  ].join(' ');
}

function processUser(): { uid: number | undefined; name: string | undefined } {
  const uid = process.getuid?.();
  try {
    return { uid, name: userInfo().username };
  } catch {
    // Without an entry for the uid, as in containers.
    return { uid, name: undefined };
  }
}
