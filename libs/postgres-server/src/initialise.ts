import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { childEnvironment } from '@brine/environment';
import { giveTree, startAsOwner } from '@brine/files';
import { JobCacheError } from '@brine/job-cache';
import type { Account } from './account.ts';
import { assertReachable } from './account.ts';
import type { Binaries } from './binaries.ts';
import { type Passwords, SUPERUSER } from './roles.ts';

/** Files beside the data with the passwords of both roles, for the user that starts the server. */
export const PASSWORD_FILES = { superuser: 'password', services: 'services-password' } as const;
/** Major version of the data directory that the installed programs read. */
const MAJOR_VERSION = '18';

const ROOM = 'making-';
/** Leftovers of a killed process of 0.2.0. */
const OF_0_2 = new Set(['data.new', 'password.new']);

/** The environment of the server's programs: none of our PG* variables or locales may leak in. */
export function serverEnvironment(): Record<string, string> {
  const { PATH = '/usr/bin:/bin' } = process.env;
  return childEnvironment({ PATH }, { LC_ALL: 'C', TZ: 'UTC' });
}

/**
 * Makes the directory `<dir>/data` if it is missing. Returns the passwords of the superuser and of
 * the services, which are kept in files of their own (mode 0600). initdb works in a directory of
 * its own, which is renamed when it is whole: a process killed half-way leaves no directory that
 * looks complete.
 *
 * Throws JobCacheError SALT_JOBCACHE_EMBEDDED if initdb fails, or the data is of another major
 * version.
 */
export async function initialise(
  dir: string,
  binaries: Binaries,
  account: Account,
): Promise<Passwords> {
  const superuser = await initialiseData(dir, binaries, account);
  return { superuser, services: await servicesPassword(dir) };
}

async function initialiseData(dir: string, binaries: Binaries, account: Account): Promise<string> {
  const data = join(dir, 'data');
  // The server's account passes through it, and no other account reads it.
  await mkdir(dir, { recursive: true, mode: 0o711 });
  assertReachable(dir, account);
  if (existsSync(join(data, 'PG_VERSION'))) {
    await assertVersion(data);
    // A stock master that root starts takes all below its cachedir (Salt: salt/utils/verify.py).
    if (account.other && (await stat(data)).uid !== account.uid) await giveTree(data, account);
    return readPassword(dir);
  }
  const password = newPassword();
  const room = await roomToMakeIn(dir, account);
  const [half, passwordFile] = [join(room, 'data'), join(room, 'password')];
  await mkdir(half, { mode: 0o700 });
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' });
  if (account.other) {
    await chown(half, account.uid, account.gid);
    await chown(passwordFile, account.uid, account.gid);
  }
  await runInitdb(half, passwordFile, binaries, account);
  if (account.other) await chown(passwordFile, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  await chmod(passwordFile, 0o600);
  await rename(passwordFile, join(dir, PASSWORD_FILES.superuser));
  await rename(half, data);
  await rm(room, { recursive: true });
  return password;
}

/**
 * A directory of this process alone. The initdb of a killed process continues without it, and
 * empties its directory if it fails: that must not be the directory of the next process.
 */
async function roomToMakeIn(dir: string, account: Account): Promise<string> {
  for (const name of await readdir(dir)) {
    if (name.startsWith(ROOM) || OF_0_2.has(name)) {
      // The initdb of a killed process may still write there.
      await rm(join(dir, name), { recursive: true, force: true, maxRetries: 10 });
    }
  }
  const room = await mkdtemp(join(dir, ROOM));
  if (account.other) await chown(room, account.uid, account.gid);
  return room;
}

async function assertVersion(data: string): Promise<void> {
  const version = (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim();
  if (version === MAJOR_VERSION) return;
  throw new JobCacheError(
    'SALT_JOBCACHE_EMBEDDED',
    `${data} was made by PostgreSQL ${version}, the embedded one is ${MAJOR_VERSION}: move the ` +
      'data with pg_dump of the old version, or set DATABASE_URL to a server of that version.',
  );
}

function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

/** Each start gives the role this password, so a missing file is made again. */
async function servicesPassword(dir: string): Promise<string> {
  const path = join(dir, PASSWORD_FILES.services);
  if (existsSync(path)) return (await readFile(path, 'utf8')).trim();
  const password = newPassword();
  const half = `${path}.new`;
  await rm(half, { force: true });
  await writeFile(half, `${password}\n`, { mode: 0o600, flag: 'wx' });
  await rename(half, path);
  return password;
}

async function readPassword(dir: string): Promise<string> {
  const path = join(dir, PASSWORD_FILES.superuser);
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    const text = `${path}, the password of the data beside it, can not be read`;
    throw new JobCacheError('SALT_JOBCACHE_EMBEDDED', text, error);
  }
}

function runInitdb(
  data: string,
  passwordFile: string,
  binaries: Binaries,
  account: Account,
): Promise<void> {
  const options = [
    `--pgdata=${data}`,
    `--pwfile=${passwordFile}`,
    `--username=${SUPERUSER}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
  ];
  const child = startAsOwner((as) =>
    spawn(binaries.initdb, options, {
      cwd: '/',
      env: serverEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(account.other ? { uid: account.uid, gid: account.gid } : as),
    }),
  );
  let output = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    output = (output + text).slice(-4000);
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      reject(new JobCacheError('SALT_JOBCACHE_EMBEDDED', 'initdb could not be started', error));
    });
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new JobCacheError('SALT_JOBCACHE_EMBEDDED', `initdb failed: ${output.trim()}`));
    });
  });
}
