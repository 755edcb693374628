import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { lookupUser } from '@brine/cachedir';
import { masterConfigFiles, type MasterOptions } from '@brine/config';
import { asOwnerOf, isSystemError, type Owner, readBounded } from '@brine/files';
import { BackupError } from '../backup-error.ts';
import type { FileRecord, FileRoot } from '../file-records.ts';
import { keyPath } from './key-file.ts';

/** Keys and configuration are small; a larger file is neither. */
export const FILE_MAX = 16 * 1024 * 1024;
const FILES_MAX = 1_000_000;

/** The directories that paths of a backup are relative to. */
export type Roots = Readonly<Record<FileRoot, string>>;

/** A file of the host with its content; a link has none. */
export interface HostFile {
  readonly record: FileRecord;
  readonly data: Uint8Array;
}

/** Where a configuration has its files. */
export function rootsOf({ configDir, pkiDir, ownPkiDir, brine }: MasterOptions): Roots {
  return {
    config: configDir,
    pki: pkiDir,
    'own-pki': ownPkiDir,
    certificates: brine.nats.certificates,
    include: '/',
    host: '/',
  };
}

/** The nearest root above a path, and the path from there. */
export function recordOf(roots: Roots, path: string): Pick<FileRecord, 'root' | 'path'> {
  let best: Pick<FileRecord, 'root' | 'path'> = { root: 'host', path: path.slice(1) };
  for (const [root, dir] of Object.entries(roots) as [FileRoot, string][]) {
    if (dir === '/') continue;
    const below = pathBelow(dir, path);
    if (below !== undefined && below.length < best.path.length) best = { root, path: below };
  }
  return best;
}

/** The path relative to a directory; undefined if it is not below it. */
function pathBelow(dir: string, path: string): string | undefined {
  const below = relative(dir, path);
  const isBelow = below !== '' && !isAbsolute(below) && below.split(sep)[0] !== '..';
  return isBelow ? below : undefined;
}

/** All paths below a directory except directories; empty if the directory is missing. */
export function pathsBelow(dir: string): Promise<string[]> {
  return asOwnerOf(dir, () => walk(dir));
}

async function walk(dir: string): Promise<string[]> {
  const found: string[] = [];
  const left = [dir];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    const entries = await readdir(at, { withFileTypes: true }).catch((error: unknown) => {
      if (isSystemError(error, 'ENOENT')) return [];
      throw error;
    });
    for (const entry of entries) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) left.push(path);
      else if ((entry.isFile() || entry.isSymbolicLink()) && !isNoKey(entry.name)) found.push(path);
    }
    if (found.length > FILES_MAX) throw new BackupError(`${dir} has too many files`);
  }
  return found.sort();
}

/**
 * Half-written files, and the journal of the key sync. Without a journal no key is deleted. A
 * journal older than the record of keys would restore or remove keys.
 */
function isNoKey(name: string): boolean {
  return /^\..*\.new$/.test(name) || name.startsWith('.brine-keys');
}

/**
 * Configuration, keys and certificates of a master with owner and mode. The main file of the
 * configuration comes last of its kind: a restore that is killed before it has no configuration.
 */
export async function* hostFiles(options: MasterOptions): AsyncGenerator<HostFile, void> {
  const roots = rootsOf(options);
  const user = await lookupUser(options.user);
  const { confFile } = options;
  const included = masterConfigFiles({ file: confFile }).filter((path) => path !== confFile);
  const done = new Set([keyPath(options)]);
  for await (const { path, dir } of allPaths(options, included)) {
    if (done.has(path)) continue;
    done.add(path);
    const place = recordOf(roots, path);
    const isInclude = place.root === 'host' && included.includes(path);
    const record = isInclude ? { ...place, root: 'include' as const } : place;
    const file = await asOwnerOf(dirname(path), () => fileOf({ path, dir }, record, user));
    if (file !== undefined) yield file;
  }
}

/** A path, and the directory that is saved with all its content. */
interface Found {
  readonly path: string;
  readonly dir?: string | undefined;
}

/** The configuration, then lists of ids, keys, certificates. */
async function* allPaths(
  options: MasterOptions,
  included: readonly string[],
): AsyncGenerator<Found, void> {
  const { confFile, autosignFile, autorejectFile, autosignGrainsDir } = options;
  for (const path of [...included, confFile, autosignFile, autorejectFile]) {
    if (path !== undefined) yield { path };
  }
  const roots = rootsOf(options);
  for (const dir of [autosignGrainsDir, roots.pki, roots['own-pki'], roots.certificates]) {
    if (dir === undefined) continue;
    for (const path of await pathsBelow(dir)) yield { path, dir };
  }
}

/** Undefined if the file no longer exists: a deleted key is not in the backup. */
async function fileOf(
  { path, dir }: Found,
  place: Pick<FileRecord, 'root' | 'path'>,
  user: Owner | undefined,
): Promise<HostFile | undefined> {
  try {
    const named = await lstat(path);
    const link = named.isSymbolicLink() ? await linkOf(path, dir) : undefined;
    if (link === null) return undefined;
    const found = link === undefined ? await stat(path) : named;
    const owner = ownerText(found, user);
    const record = { ...place, mode: found.mode & 0o777, owner };
    if (link !== undefined) return { record: { ...record, link }, data: Buffer.alloc(0) };
    if (found.isDirectory()) {
      const what = `${path} is a link to a directory elsewhere (${await realpath(path)})`;
      throw new BackupError(`${what}: mount that directory there in place of the link`);
    }
    const data = await readBounded(path, FILE_MAX);
    // Fractions of a millisecond can not be restored.
    const mtimeMs = Math.round(found.mtimeMs);
    return data === undefined ? undefined : { record: { ...record, mtimeMs }, data };
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** The master reads passwords of its configuration by its group: files of root keep that group. */
function ownerText({ uid, gid }: Owner, user: Owner | undefined): FileRecord['owner'] {
  if (uid !== 0) return uid === user?.uid ? 'user' : `${uid}:${gid}`;
  if (gid === 0) return 'root';
  return gid === user?.gid ? 'root:user' : `0:${gid}`;
}

/**
 * The target of a link as a backup stores it. Undefined if the target is outside of `dir`: another
 * host has no such target, so the content is saved. Null if there is no content either.
 */
async function linkOf(path: string, dir: string | undefined): Promise<string | undefined | null> {
  let real: string;
  try {
    real = await realpath(path);
  } catch (error) {
    if (!isSystemError(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error;
    // A dangling link is kept as it is, but a restore makes no link that could leave `dir`.
    const link = await readlink(path);
    const place = normalize(join(dirname(path), link));
    const isInside = dir !== undefined && !isAbsolute(link) && pathBelow(dir, place) !== undefined;
    return isInside ? link : null;
  }
  const target = dir === undefined ? undefined : pathBelow(await realpath(dir), real);
  if (dir === undefined || target === undefined) return undefined;
  return relative(dirname(relative(dir, path)), target);
}
