import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { type Output, RefusedError, runningMaster } from '@brine/master-host';
import { giveTo, ownerOf } from '@brine/master-host/files';
import { commandLog, openServers } from '@brine/master-host/servers';
import type { BackupKey } from './backup-key.ts';
import { checkBackup, type CheckedBackup } from './check-backup.ts';
import { readArchive } from './edge/archive-file.ts';
import { keyPath, putKey, readKey } from './edge/key-file.ts';
import {
  hostOptions,
  isConfigEntry,
  type RestoredConfig,
  restoredConfig,
  RestoreFiles,
} from './edge/restore-files.ts';
import { type RestoreOf, RestoreTarget } from './edge/restore-target.ts';
import type { Manifest } from './manifest.ts';
import { manifestLines } from './manifest-lines.ts';
import { readMarker } from './marker/marker.ts';
import { putBack } from './put-back.ts';

/** Arguments of `brine restore`. */
export interface RestoreArguments {
  readonly file: string;
  readonly configDir: string | undefined;
  readonly isDry: boolean;
  /** File with the key that proves the backup; default that of this host. */
  readonly keyFile: string | undefined;
  /** Accepts a backup without a proof. */
  readonly withoutMac: boolean;
  /** Skips work in progress: runs of the cluster and reactions. */
  readonly withoutWork: boolean;
}

/** Parts with work that a master would resume. */
const WORK = ['values/REACTIONS', 'values/DUE', 'values/KV_brine_runs'];

/** Number of files that a refusal names. */
const NAMED_MAX = 3;

/**
 * Restores a backup to a host that is not a master. Nothing is written before the whole file is
 * checked and the host is found empty. The same command finishes a run that was killed.
 */
export async function restoreBackup(args: RestoreArguments, output: Output): Promise<void> {
  const { file, isDry } = args;
  output.status?.(`${file} is checked`);
  const checked = await checkBackup(readArchive(file), isConfigEntry);
  const { manifest, kept } = checked;
  output.status?.('');
  output.out(manifestLines(manifest));
  const here = hostOptions(args.configDir);
  const key = await provingKey(args, here, checked);
  const config = await restoredConfig(here, manifest, kept);
  if (key === undefined) refuseItsConfig(config, here);
  const { options } = config;
  refuseRunning(options);
  const owner = options.user === 'root' ? undefined : await ownerOf(options.user);
  const begun = readMarker(options.brine.stateDir);
  const isAgain = begun?.backup === manifest.name;
  const hasCertificates = existsSync(options.brine.nats.certificates);
  const keepsCertificates = isAgain ? begun.keepsCertificates : hasCertificates;
  const files = new RestoreFiles(manifest, config, owner, keepsCertificates);
  await refuseFiles(files);
  output.out(placeLines(manifest, config, keepsCertificates));
  for (const path of files.leftOut()) {
    output.out(`left out: ${path} (no option of this configuration names it)\n`);
  }
  if (isAgain) output.out('resuming: an earlier run did not finish\n');
  const without = args.withoutWork ? WORK : [];
  // The path is absolute: a later run may start in another directory.
  const of = { manifest, file: resolve(file), keepsCertificates, without };
  if (isDry) return lookOnly(options, files, of, output);
  await withTarget(options, files, of, output, async (target) => {
    await target.begin();
    await putBack(readArchive(file), manifest, target, (name) => output.status?.(name));
    await target.end();
  });
  // Root made the files; a master that does not run as root must own them.
  const { pkiDir, ownPkiDir, brine } = options;
  const dirs = [brine.stateDir, pkiDir, ownPkiDir];
  if (!keepsCertificates) dirs.push(brine.nats.certificates);
  if (options.user !== 'root') await giveTo(owner, dirs);
  // Later backups of this host use the same key.
  if (key !== undefined) await putKey(options, key, options.user === 'root' ? undefined : owner);
  output.out(`restored: ${file}\n`);
  output.out(
    `next: start it: systemctl start brine-master, or brine master -d -c ${options.configDir}\n`,
  );
}

/**
 * The key that proves the backup; undefined with `--without-mac`.
 * @throws RefusedError if it is not proven
 */
async function provingKey(
  { keyFile, withoutMac }: RestoreArguments,
  here: MasterOptions,
  { isOf }: CheckedBackup,
): Promise<BackupKey | undefined> {
  if (withoutMac) return undefined;
  const path = keyFile ?? keyPath(here);
  const key = await readKey(path);
  const isProven = key && isOf(key);
  if (isProven === true) return key;
  const why =
    key === undefined
      ? `${path}, the key that proves the backup, is missing: give that of the host that made ` +
        'it (--key-file FILE)'
      : isProven === undefined
        ? 'the backup has no code that proves its origin, as backups of earlier releases'
        : `the backup does not match the key in ${path}: it was changed, or another host made it ` +
          '(--key-file FILE)';
  throw new RefusedError(
    `${why}. Use --without-mac only if you know that no other user could write to the file`,
  );
}

/** An unproven configuration could set any path, and run any program as the master. */
function refuseItsConfig({ isOfBackup }: RestoredConfig, { confFile }: MasterOptions): void {
  if (!isOfBackup || existsSync(confFile)) return;
  throw new RefusedError(
    `without a proof the backup's configuration is not restored: look at it ` +
      `(tar -xzOf FILE files/config/master), put it to ${confFile}, then run this again`,
  );
}

/** `--dry-run`: reads servers that run; starts none. */
async function lookOnly(
  options: MasterOptions,
  files: RestoreFiles,
  of: RestoreOf,
  output: Output,
): Promise<void> {
  const { nats, postgres, stateDir } = options.brine;
  const isThere = (url: string | undefined, name: string): boolean =>
    hasUrl(url) || existsSync(join(stateDir, name));
  if (isThere(nats.url, 'nats') && isThere(postgres.url, 'postgres')) {
    await withTarget(options, files, of, output, () => Promise.resolve());
    output.out('NATS and PostgreSQL can take it\n');
  }
}

async function withTarget(
  options: MasterOptions,
  files: RestoreFiles,
  of: RestoreOf,
  output: Output,
  work: (target: RestoreTarget) => Promise<void>,
): Promise<void> {
  const servers = await openServers(options, { as: 'admin', log: commandLog('restore', output) });
  try {
    const target = await RestoreTarget.open(options, servers, files, of);
    try {
      await work(target);
    } finally {
      output.status?.('');
      await target.close();
    }
  } finally {
    await servers.close();
  }
}

function refuseRunning(options: MasterOptions): void {
  const pid = runningMaster(options);
  if (pid === undefined) return;
  throw new RefusedError(`a master runs on this host (pid ${pid}): restore on another one`);
}

async function refuseFiles(files: RestoreFiles): Promise<void> {
  const found = await files.conflicts();
  if (found.length === 0) return;
  const more = found.length > NAMED_MAX ? ` and ${found.length - NAMED_MAX} more` : '';
  const text =
    `this host has files of another master: ${found.slice(0, NAMED_MAX).join(', ')}${more}. ` +
    'Move them away, or restore on another host';
  throw new RefusedError(text);
}

function hasUrl(url: string | undefined): boolean {
  return url !== undefined && url !== '';
}

/** The targets of the restore, as lines. */
function placeLines(
  manifest: Manifest,
  { options, isOfBackup }: RestoredConfig,
  keepsCertificates: boolean,
): string {
  const { brine, configDir, pkiDir } = options;
  const hasTheirs = manifest.files.some(({ root }) => root === 'certificates');
  const server = (which: 'nats' | 'postgres'): string =>
    hasUrl(brine[which].url) ? `brine.${which}.url` : join(brine.stateDir, which);
  return [
    `configuration: ${configDir}${isOfBackup ? '' : ' (stays as it is here)'}`,
    `keys: ${pkiDir}`,
    ...(hasTheirs && keepsCertificates
      ? [`certificates: ${brine.nats.certificates} (stay as they are here)`]
      : []),
    `NATS: ${server('nats')}`,
    `PostgreSQL: ${server('postgres')}`,
    '',
  ].join('\n');
}
