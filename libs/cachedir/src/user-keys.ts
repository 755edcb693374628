import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '@brine/environment';
import type { Owner } from '@brine/files';
import { ifThere, isSystemError, readIfThere, writeAtomic } from '@brine/files';
import { CachedirError } from './errors.ts';

/**
 * A Crypticle key string: base64 of 56 bytes (Salt: salt/crypt.py Crypticle.generate_key_string).
 */
const USER_KEY = /^[A-Za-z0-9+/]{75}=$/;

/** Salt: salt/daemons/masterapi.py access_keys creates them with umask 0o277 and chmod 0o600. */
const USER_KEY_MODE = 0o600;

/** Names that may stand in `.<user>_key`; Salt puts a `\` of a domain user down as `_`. */
const USER_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@$\\-]{0,127}$/;

/** The key of one local user. */
export interface UserKey {
  readonly user: string;
  readonly key: string;
  readonly path: string;
  /** True when the file was written now; false when the one found is still valid. */
  readonly fresh: boolean;
  /** False when there is no such user on this host: the file then stays with the master's user. */
  readonly owned: boolean;
}

/** Where a user's key lies: `<cachedir>/.<user>_key`. Throws CachedirError for an odd name. */
export function userKeyPath(cachedir: string, user: string): string {
  if (!USER_NAME.test(user)) {
    throw new CachedirError('SALT_CACHEDIR_BAD_USER', 'user name can not be part of a file name');
  }
  return join(cachedir, `.${user.replaceAll('\\', '_')}_key`);
}

/** A user's key as the CLI reads it, or undefined where there is none or it is not valid. */
export async function readUserKey(cachedir: string, user: string): Promise<string | undefined> {
  const text = (await readIfThere(userKeyPath(cachedir, user)))?.toString('latin1').trim();
  return text !== undefined && USER_KEY.test(text) ? text : undefined;
}

/**
 * The keys of all local users, as their files have them now. Those that are not ours to read, and
 * files of another form, are left out.
 */
export async function readUserKeys(
  cachedir: string,
): Promise<readonly Pick<UserKey, 'user' | 'key'>[]> {
  const keys: Pick<UserKey, 'user' | 'key'>[] = [];
  for (const name of await namesIn(cachedir)) {
    const user = /^\.(.+)_key$/.exec(name)?.[1];
    if (user === undefined || !USER_NAME.test(user)) continue;
    const key = await readUserKey(cachedir, user).catch(unlessForbidden);
    if (key !== undefined) keys.push({ user, key });
  }
  return keys;
}

async function namesIn(dir: string): Promise<readonly string[]> {
  return (await ifThere(readdir(dir))) ?? [];
}

function unlessForbidden(error: unknown): undefined {
  if (!isSystemError(error, 'EACCES', 'EPERM')) throw error;
}

/**
 * Makes sure that a user has a key file, 0600 and owned by that user. A key that was found and is
 * also `known` (the master accepts it already) is kept. A file with any other text gets the known
 * key, so a file that another user put there is never trusted. A file that was removed gets a new
 * key: this is how an operator replaces one.
 */
export async function ensureUserKey(options: {
  readonly cachedir: string;
  readonly user: string;
  readonly known?: string | undefined;
  readonly fresh: () => string;
}): Promise<UserKey> {
  const { cachedir, user, known } = options;
  const path = userKeyPath(cachedir, user);
  const owner = await ownerFor(user);
  const owned = owner !== undefined || process.getuid?.() !== 0;
  const found = await readUserKey(cachedir, user);
  if (found !== undefined && found === known && (await isPrivate(path, owner))) {
    return { user, key: found, path, fresh: false, owned };
  }
  const isSpoilt = await isThere(path);
  const key = isSpoilt && known !== undefined && USER_KEY.test(known) ? known : options.fresh();
  await writeAtomic(path, key, { mode: USER_KEY_MODE, owner });
  return { user, key, path, fresh: key !== known, owned };
}

async function isThere(path: string): Promise<boolean> {
  return (await readIfThere(path)) !== undefined;
}

async function isPrivate(path: string, owner: Owner | undefined): Promise<boolean> {
  const { mode, uid } = await stat(path);
  return (mode & 0o777) === USER_KEY_MODE && (owner === undefined || uid === owner.uid);
}

/** Only root can give files away; others keep them. */
async function ownerFor(user: string): Promise<Owner | undefined> {
  return process.getuid?.() === 0 ? lookupUser(user) : undefined;
}

/** A user of this host. */
export interface HostUser extends Owner {
  readonly home: string;
  readonly shell: string;
}

/** What this host's name service knows of a user, or undefined. */
export async function lookupUser(user: string): Promise<HostUser | undefined> {
  if (!USER_NAME.test(user)) return undefined;
  const line = (await fromPasswdFile(user)) ?? (await fromNameService(user));
  const [, , uid, gid, , home = '', shell = ''] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined) return undefined;
  return { uid: Number(uid), gid: Number(gid), home, shell };
}

async function fromPasswdFile(user: string): Promise<string | undefined> {
  const text = (await readIfThere('/etc/passwd'))?.toString('utf8') ?? '';
  return text.split('\n').find((line) => line.startsWith(`${user}:`));
}

async function fromNameService(user: string): Promise<string | undefined> {
  try {
    const options = { env: childEnvironment(process.env), timeout: 3_000 };
    const { stdout } = await promisify(execFile)('getent', ['passwd', user], options);
    return stdout.split('\n').find((line) => line.startsWith(`${user}:`));
  } catch {
    // No such user (exit 2), or a host without getent: both mean an unknown user.
    return undefined;
  }
}
