import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, lutimes, mkdir, mkdtemp, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, normalize, relative } from 'node:path';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  masterConfigFiles,
  type MasterOptions,
} from '@brine/config';
import {
  asOwnerOf,
  isRootsOwn,
  isSystemError,
  type Owner,
  readBounded,
  readIfThere,
  TooMuchError,
  writeNew,
} from '@brine/files';
import { RefusedError } from '@brine/master-host';
import { journalPath } from '@brine/pki';
import { BackupError } from '../backup-error.ts';
import { filePart, type FileRecord, type FileRoot } from '../file-records.ts';
import type { Manifest } from '../manifest.ts';
import { FILE_MAX, pathsBelow, type Roots, rootsOf } from './host-files.ts';
import { keyPath } from './key-file.ts';

/** Directories of keys are the master's alone. */
const DIR_MODES: Readonly<Record<FileRoot, number>> = {
  config: 0o755,
  include: 0o755,
  host: 0o755,
  pki: 0o700,
  'own-pki': 0o700,
  certificates: 0o700,
};

/** All files below them belong to the master's user. */
const KEY_ROOTS: ReadonlySet<FileRoot> = new Set(['pki', 'own-pki', 'certificates']);

/** The configuration of a restored master. */
export interface RestoredConfig {
  readonly options: MasterOptions;
  /** False: this host has one of its own, which stays. */
  readonly isOfBackup: boolean;
  /** Files of the configuration below its directory, and those elsewhere, as paths. */
  readonly itsFiles: ReadonlySet<string>;
}

/** The options that this host has now. @throws RefusedError if they can not be read */
export function hostOptions(configDir: string | undefined): MasterOptions {
  return load({ configDir }).options;
}

/** True for entries of the configuration, which restoredConfig reads. */
export const isConfigEntry = (entry: string): boolean => entry.startsWith('files/config/');

/**
 * The options that the restore uses: those of this host if it has a configuration, else those of
 * the backup, read without writing to the directory.
 * @throws RefusedError if they can not be read
 */
export async function restoredConfig(
  here: MasterOptions,
  manifest: Manifest,
  kept: ReadonlyMap<string, Buffer>,
): Promise<RestoredConfig> {
  const ofHost = { options: here, isOfBackup: false, itsFiles: new Set<string>() };
  const records = manifest.files.filter(({ root }) => root === 'config');
  const main = records.find(({ path }) => join(here.configDir, path) === here.confFile);
  if (main === undefined) return ofHost;
  const textOf = (record: FileRecord): Buffer => {
    const text = kept.get(filePart(record));
    if (text === undefined) throw new Error(`${record.path} of the backup was not kept`);
    return text;
  };
  const found = await readIfThere(here.confFile);
  if (found !== undefined && !found.equals(textOf(main))) return ofHost;
  if (found === undefined) {
    refuseIncludes(manifest);
    refuseLinks(here.configDir, records);
  }
  const draft = await mkdtemp(join(tmpdir(), 'brine-restore-'));
  try {
    for (const record of records) {
      const path = below(draft, record);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(path, textOf(record), { mode: 0o600 });
    }
    const file = below(draft, main);
    const { configDir, confFile } = here;
    const options = found === undefined ? { ...load({ file }).options, configDir, confFile } : here;
    const all = [file, ...masterConfigFiles({ file })].map((path) => {
      const inside = relative(draft, path);
      return inside.startsWith('../') ? path : join(configDir, inside);
    });
    return { options, isOfBackup: true, itsFiles: new Set(all) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Included files can not be read from another place, and may set any directory. */
function refuseIncludes({ files }: Manifest): void {
  const missing = files.find(({ root, path }) => root === 'include' && !existsSync(`/${path}`));
  if (missing === undefined) return;
  const { path } = missing;
  throw new RefusedError(
    `the backup's configuration includes /${path}, which is not on this host: put it there first ` +
      `(tar -xzOf FILE files/include/${path}), then run this again`,
  );
}

/** Backups of earlier releases contain a link in place of its content. */
function refuseLinks(configDir: string, records: readonly FileRecord[]): void {
  const found = records.find(({ link }) => link !== undefined);
  if (found === undefined) return;
  throw new RefusedError(
    `the backup has ${join(configDir, found.path)} only as a link to ${found.link}: put the ` +
      'configuration there first, then run this again',
  );
}

function load(location: Parameters<typeof loadMasterConfig>[0]): LoadedConfig<MasterOptions> {
  try {
    return loadMasterConfig(location);
  } catch (error) {
    if (error instanceof ConfigError) throw new RefusedError(error.message);
    throw error;
  }
}

/** Writes files of a backup to this host. */
export class RestoreFiles {
  readonly #manifest: Manifest;
  readonly #config: RestoredConfig;
  readonly #roots: Roots;
  readonly #user: Owner | undefined;
  readonly #keepsCertificates: boolean;

  /**
   * @param user owner of files of the master's user; default this process's user
   * @param keepsCertificates whether this host has certificates, which stay
   */
  constructor(
    manifest: Manifest,
    config: RestoredConfig,
    user: Owner | undefined,
    keepsCertificates: boolean,
  ) {
    this.#manifest = manifest;
    this.#config = config;
    this.#roots = rootsOf(config.options);
    this.#user = user;
    this.#keepsCertificates = keepsCertificates;
  }

  /**
   * Files of this host that differ from those of the backup, or keys that the backup does not have:
   * this host has been another master.
   */
  async conflicts(): Promise<string[]> {
    const hashes = new Map(this.#manifest.parts.map(({ name, sha256 }) => [name, sha256]));
    const wanted = new Map<string, string>();
    for (const record of this.#manifest.files) {
      if (!this.#isWanted(record)) continue;
      const hash = record.link ?? hashes.get(filePart(record)) ?? '';
      const path = this.pathOf(record);
      if (wanted.has(path)) throw new BackupError(`two files of it would be ${path}`);
      wanted.set(path, hash);
    }
    const there = new Set(wanted.keys());
    for (const dir of [this.#roots.pki, this.#roots['own-pki']]) {
      for (const path of await pathsBelow(dir)) there.add(path);
    }
    // The key that proves backups is in no backup.
    there.delete(keyPath(this.#config.options));
    const journal = journalPath(this.#config.options.pkiDir);
    // The journal names keys of another master of this host.
    const found = existsSync(journal) ? [journal] : [];
    for (const path of there) {
      const now = await asOwnerOf(dirname(path), () => hashOf(path));
      const isOwn = this.#keepsCertificates && path.startsWith(`${this.#roots.certificates}/`);
      if (now !== undefined && now !== wanted.get(path) && !isOwn) found.push(path);
    }
    return found;
  }

  /** Writes a file; an existing one has the same content, as {@link conflicts} has checked. */
  async put(record: FileRecord, data: Uint8Array): Promise<void> {
    if (!this.#isWanted(record)) return;
    const path = this.pathOf(record);
    const dir = dirname(path);
    const isAlone = record.root === 'host' || record.root === 'include';
    const top = isAlone ? dir : this.#roots[record.root];
    // In a directory where root acts as another user, the file is that user's.
    const owner = isRootsOwn(dir) ? this.#ownerOf(record) : undefined;
    await asOwnerOf(dir, async () => {
      await makeDirectories(top, dir, DIR_MODES[record.root]);
      if (record.link !== undefined) {
        await symlink(record.link, path).catch((error: unknown) => {
          if (!isSystemError(error, 'EEXIST')) throw error;
        });
        return;
      }
      const isNew = await writeNew(path, data, { mode: record.mode, owner });
      if (record.mtimeMs !== undefined) await setTime(path, record.mtimeMs, isNew);
    });
  }

  /**
   * The path of a file on this host: below a directory of this master, or exactly a file that its
   * options name.
   * @throws BackupError for any other path
   */
  pathOf(record: FileRecord): string {
    const path = below(this.#roots[record.root], record);
    if (this.#isNamed(record, path)) return path;
    throw new BackupError(
      `${filePart(record)} may not be put: no option of this master names ${path}`,
    );
  }

  /** Files that only the configuration of the backup names, if that is not restored. */
  leftOut(): string[] {
    if (this.#config.isOfBackup) return [];
    const lists = this.#manifest.files.filter(({ root }) => root === 'host');
    return lists.filter((one) => !this.#isWanted(one)).map(({ path }) => `/${path}`);
  }

  #isNamed({ root }: FileRecord, path: string): boolean {
    const { options, itsFiles } = this.#config;
    const { autosignFile, autorejectFile, autosignGrainsDir } = options;
    const isNamed =
      KEY_ROOTS.has(root) ||
      itsFiles.has(path) ||
      [autosignFile, autorejectFile].includes(path) ||
      (autosignGrainsDir !== undefined && dirname(path) === autosignGrainsDir);
    return isNamed && path !== keyPath(options);
  }

  #isWanted(record: FileRecord): boolean {
    const { root } = record;
    if (root === 'config' || root === 'include') return this.#config.isOfBackup;
    if (root === 'host' && !this.#config.isOfBackup) {
      return this.#isNamed(record, below(this.#roots.host, record));
    }
    return root !== 'certificates' || !this.#keepsCertificates;
  }

  #ownerOf({ owner }: FileRecord): Owner | undefined {
    if (process.getuid?.() !== 0 || owner === 'root') return undefined;
    if (owner === 'user') return this.#user;
    if (owner === 'root:user') return { uid: 0, gid: this.#user?.gid ?? 0 };
    const [uid, gid] = owner.split(':').map(Number);
    return Number.isInteger(uid) && Number.isInteger(gid)
      ? { uid: uid ?? 0, gid: gid ?? 0 }
      : undefined;
  }
}

/** Applies also to files of an earlier run, which may have been killed before this. */
async function setTime(path: string, ms: number, isOurs: boolean): Promise<void> {
  try {
    await lutimes(path, ms / 1_000, ms / 1_000);
  } catch (error) {
    if (isOurs || !isSystemError(error, 'EPERM')) throw error;
  }
}

/** Makes missing directories between one of the master's and one below it; follows no link. */
async function makeDirectories(top: string, dir: string, mode: number): Promise<void> {
  await mkdir(top, { recursive: true, mode });
  let at = top;
  for (const name of relative(top, dir).split('/')) {
    if (name === '') continue;
    at = join(at, name);
    await mkdir(at, { mode }).catch((error: unknown) => {
      if (!isSystemError(error, 'EEXIST')) throw error;
    });
    if ((await lstat(at)).isDirectory()) continue;
    throw new BackupError(`${at} is no directory: mount that directory there, or move it away`);
  }
}

function below(root: string, record: FileRecord): string {
  const { path } = record;
  const clean = normalize(path);
  if (clean !== path || isAbsolute(path) || path === '' || path.split('/')[0] === '..') {
    throw new BackupError(`${filePart(record)} may not be put: its path leads elsewhere`);
  }
  return join(root, path);
}

/** The hash of a file, or the target of a link; undefined if it is missing. */
async function hashOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (!isSystemError(error, 'EINVAL', 'ENOENT', 'ENOTDIR')) throw error;
  }
  try {
    const data = await readBounded(path, FILE_MAX);
    return data && createHash('sha256').update(data).digest('hex');
  } catch (error) {
    // No file of a backup is so large, so no hash matches.
    if (error instanceof TooMuchError) return error.message;
    throw error;
  }
}
