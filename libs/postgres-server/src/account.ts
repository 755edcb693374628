import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { childEnvironment } from '@brine/environment';
import { JobCacheError } from '@brine/job-cache';

/** The account that runs the server: PostgreSQL refuses to run as root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** True if this process runs as another account. */
  readonly other: boolean;
}

/** The ids of `postgres`, then of `nobody`, which exist on almost every host. */
const CANDIDATES = ['postgres', 'nobody'] as const;

/**
 * The account for a data directory. An ordinary user runs the server itself. Root hands it to the
 * owner of an existing data directory (so that a restart finds its files readable), else to
 * `postgres`, else to `nobody`.
 *
 * Throws JobCacheError SALT_JOBCACHE_EMBEDDED if root finds none of them.
 */
export function serverAccount(dataDir: string): Account {
  // Root may be working as the owner of the directory.
  const uid = process.geteuid?.() ?? -1;
  const gid = process.getegid?.() ?? -1;
  if (uid !== 0) return { uid, gid, other: false };
  const owner = statSync(dataDir, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) {
    return { uid: owner.uid, gid: owner.gid, other: true };
  }
  const accounts = readAccounts();
  for (const name of CANDIDATES) {
    const found = accounts.get(name);
    if (found !== undefined && found.uid !== 0) return { ...found, other: true };
  }
  throw new JobCacheError(
    'SALT_JOBCACHE_EMBEDDED',
    // eslint-disable-next-line brine/plain-words -- a user of the host
    'PostgreSQL can not run as root and there is no user postgres or nobody on this host. ' +
      'Create one (useradd --system postgres), start as an ordinary user, or set DATABASE_URL.',
  );
}

/**
 * Makes sure that the account can enter a directory, by trying (ACLs and mounts count too).
 *
 * Throws JobCacheError SALT_JOBCACHE_EMBEDDED with the first directory that is closed to it.
 */
export function assertReachable(path: string, account: Account): void {
  if (isReachable(path, account)) return;
  const closed = ancestors(path).find((dir) => !isReachable(dir, account)) ?? path;
  throw new JobCacheError(
    'SALT_JOBCACHE_EMBEDDED',
    `the user that runs PostgreSQL (uid ${account.uid}) can not enter ${closed}, so it can not ` +
      `keep its data in ${path}. Choose a state directory that every user can enter ` +
      `(for example below /var/lib), allow it with: chmod o+x ${closed}, or set DATABASE_URL.`,
  );
}

/** True if the account can enter the directory. */
export function isReachable(path: string, account: Account): boolean {
  if (!account.other) return true;
  const tried = spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', path], {
    cwd: '/',
    uid: account.uid,
    gid: account.gid,
    env: childEnvironment(process.env),
    stdio: 'ignore',
  });
  return tried.status === 0;
}

function ancestors(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [...ancestors(above), path];
}

function readAccounts(): Map<string, { uid: number; gid: number }> {
  const found = new Map<string, { uid: number; gid: number }>();
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name === undefined || uid === undefined || gid === undefined) continue;
    found.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  return found;
}
