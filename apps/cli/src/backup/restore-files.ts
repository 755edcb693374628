import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readlink, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import {
  BackupError,
  filePart,
  type FileRecord,
  type FileRoot,
  type Manifest,
} from '@brine/backup';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
} from '@brine/config';
import { isSystemError, type Owner, readIfThere, writeNew } from '@brine/files';
import { journalPath } from '@brine/pki';
import { pathsBelow, type Roots, rootsOf } from './host-files.ts';
import { refused } from './in-words.ts';

/** Directories of keys are the master's alone. */
const DIR_MODES: Readonly<Record<FileRoot, number>> = {
  ...{ config: 0o755, include: 0o755, host: 0o755 },
  ...{ pki: 0o700, 'own-pki': 0o700, certificates: 0o700 },
};

/** Which configuration a restored master has. */
export interface RestoredConfig {
  readonly options: MasterOptions;
  /** False: this host has one of its own, which stays. */
  readonly isOfBackup: boolean;
}

/** Whether an entry of a backup is of its configuration, which restoredConfig reads. */
export const isConfigEntry = (entry: string): boolean => entry.startsWith('files/config/');

/**
 * The options by which the backup is put back: those of this host, where it has a configuration,
 * else those of the backup, read without writing to the directory.
 * @throws Exit where they can not be read
 */
export async function restoredConfig(
  configDir: string | undefined,
  manifest: Manifest,
  kept: ReadonlyMap<string, Buffer>,
): Promise<RestoredConfig> {
  const here = load({ configDir }).options;
  const records = manifest.files.filter(({ root }) => root === 'config');
  const main = records.find(({ path }) => join(here.configDir, path) === here.confFile);
  if (main === undefined) return { options: here, isOfBackup: false };
  const textOf = (record: FileRecord): Buffer => {
    const text = kept.get(filePart(record));
    if (text === undefined) throw new Error(`${record.path} of the backup was not kept`);
    return text;
  };
  const found = await readIfThere(here.confFile);
  if (found !== undefined) return { options: here, isOfBackup: found.equals(textOf(main)) };
  refuseIncludes(manifest);
  refuseLinks(here.configDir, records);
  const draft = await mkdtemp(join(tmpdir(), 'brine-restore-'));
  try {
    for (const record of records) {
      const path = below(draft, record);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(path, textOf(record), { mode: 0o600 });
    }
    const { options } = load({ file: below(draft, main) });
    const { configDir: dir, confFile } = here;
    return { options: { ...options, configDir: dir, confFile }, isOfBackup: true };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** They can not be read from another place, and may say where everything goes. */
function refuseIncludes({ files }: Manifest): void {
  const missing = files.find(({ root, path }) => root === 'include' && !existsSync(`/${path}`));
  if (missing === undefined) return;
  const { path } = missing;
  throw refused(
    'restore',
    `the backup's configuration includes /${path}, which is not on this host: put it there first ` +
      `(tar -xzOf FILE files/include/${path}), then run this again`,
  );
}

/** Backups of earlier releases hold a link in place of its content. */
function refuseLinks(configDir: string, records: readonly FileRecord[]): void {
  const found = records.find(({ link }) => link !== undefined);
  if (found === undefined) return;
  throw refused(
    'restore',
    `the backup has ${join(configDir, found.path)} only as a link to ${found.link}: put the ` +
      'configuration there first, then run this again',
  );
}

function load(location: Parameters<typeof loadMasterConfig>[0]): LoadedConfig<MasterOptions> {
  try {
    return loadMasterConfig(location);
  } catch (error) {
    if (error instanceof ConfigError) throw refused('restore', error.message);
    throw error;
  }
}

/** Puts files of a backup on this host. */
export class RestoreFiles {
  readonly #manifest: Manifest;
  readonly #config: RestoredConfig;
  readonly #roots: Roots;
  readonly #user: Owner | undefined;
  readonly #keepsCertificates: boolean;

  /**
   * @param user to whom files of the master's user go; undefined: to this process's user
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
   * Files of this host that stand where others of the backup would, or keys that it does not know:
   * this host has been another master.
   */
  async conflicts(): Promise<string[]> {
    const hashes = new Map(this.#manifest.parts.map(({ name, sha256 }) => [name, sha256]));
    const wanted = new Map<string, string>();
    for (const record of this.#manifest.files) {
      const hash = record.link ?? hashes.get(filePart(record)) ?? '';
      if (this.#isWanted(record)) wanted.set(this.pathOf(record), hash);
    }
    const keys = [this.#roots.pki, this.#roots['own-pki']];
    const there = new Set([...wanted.keys(), ...(await Promise.all(keys.map(pathsBelow))).flat()]);
    const journal = journalPath(this.#config.options.pkiDir);
    // It tells of keys that another master of this host had.
    const found = existsSync(journal) ? [journal] : [];
    for (const path of there) {
      const now = await hashOf(path);
      const isOwn = this.#keepsCertificates && path.startsWith(`${this.#roots.certificates}/`);
      if (now !== undefined && now !== wanted.get(path) && !isOwn) found.push(path);
    }
    return found;
  }

  /** Writes a file; one that is there already is the same, as {@link conflicts} has looked. */
  async put(record: FileRecord, data: Uint8Array): Promise<void> {
    if (!this.#isWanted(record)) return;
    const path = this.pathOf(record);
    await mkdir(dirname(path), { recursive: true, mode: DIR_MODES[record.root] });
    if (record.link === undefined) {
      const owner = this.#ownerOf(record);
      const isNew = await writeNew(path, data, { mode: record.mode, owner });
      if (record.mtimeMs !== undefined) await setTime(path, record.mtimeMs, isNew);
      return;
    }
    await symlink(record.link, path).catch((error: unknown) => {
      if (!isSystemError(error, 'EEXIST')) throw error;
    });
  }

  /** Where a file stands on this host. @throws BackupError for a path that leads elsewhere */
  pathOf(record: FileRecord): string {
    return below(this.#roots[record.root], record);
  }

  #isWanted({ root }: FileRecord): boolean {
    if (root === 'config' || root === 'include') return this.#config.isOfBackup;
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

/** Also of a file that an earlier run wrote: it may have been killed before this. */
async function setTime(path: string, ms: number, isOurs: boolean): Promise<void> {
  try {
    await utimes(path, ms / 1_000, ms / 1_000);
  } catch (error) {
    if (isOurs || !isSystemError(error, 'EPERM')) throw error;
  }
}

function below(root: string, { path }: FileRecord): string {
  const clean = normalize(path);
  if (clean !== path || isAbsolute(path) || path === '' || path.split('/')[0] === '..') {
    throw new BackupError(`a path in it leads elsewhere: ${path}`);
  }
  return join(root, path);
}

async function hashOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (!isSystemError(error, 'EINVAL', 'ENOENT', 'ENOTDIR')) throw error;
  }
  const data = await readIfThere(path);
  return data && createHash('sha256').update(data).digest('hex');
}
