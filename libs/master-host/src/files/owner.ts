import { lookupUser } from '@brine/cachedir';
import { giveTree, isRootsOwn, type Owner } from '@brine/files';
import { RefusedError } from '../refused-error.ts';

/**
 * The owner that files of a master must have: the user that it runs as. Undefined if this process
 * can not, and need not, change owners.
 * @throws RefusedError if root finds no such user
 */
export async function ownerOf(user: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = user === 'root' ? { uid: 0, gid: 0 } : await lookupUser(user);
  if (owner === undefined)
    throw new RefusedError(`this host has no user ${user}, which 'user' names`);
  return owner;
}

/** The owner of files written to a directory. If root acts as another user there, that user. */
export function ownerIn(dir: string, owner: Owner | undefined): Owner | undefined {
  return isRootsOwn(dir) ? owner : undefined;
}

/**
 * Gives directories and their content to a master's user. Directories of other users stay theirs:
 * root has acted as those users there.
 */
export async function giveTo(
  owner: Owner | undefined,
  paths: readonly string[],
  except: ReadonlySet<string> = new Set(),
): Promise<void> {
  if (owner === undefined) return;
  for (const path of paths) if (isRootsOwn(path)) await giveTree(path, owner, except);
}
