import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BusError } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { type Output, RefusedError, runningMaster } from '@brine/master-host';
import { giveTo, ownerOf } from '@brine/master-host/files';
import { commandLog, openServers } from '@brine/master-host/servers';
import type { BackupKey } from './backup-key.ts';
import { type ArchiveFile, createArchive } from './edge/archive-file.ts';
import { keyPath, loadOrMakeKey } from './edge/key-file.ts';
import { liveSource } from './edge/live-source.ts';
import { makeBackup } from './make-backup.ts';
import type { Manifest } from './manifest.ts';
import { bytesInWords, manifestLines } from './manifest-lines.ts';
import { readMarker } from './marker/marker.ts';
import { steady } from './rate-limit.ts';

const MIB = 1024 * 1024;
/** The server aborts a snapshot if the stream was trimmed before that part was copied. */
const ATTEMPTS = 3;

const KEEP_IT =
  'keep a copy where the backups are not, a restore on another host asks for it (--key-file)';

/** Arguments of `brine backup`. */
export interface BackupArguments {
  readonly file: string;
  readonly options: MasterOptions;
  /** Limit in MiB per second, before compression. */
  readonly speed: number;
  /** Release of this program. */
  readonly release: string;
}

/**
 * Writes all data of Brine into one file while the master runs. The file appears, and replaces an
 * existing one, when it is complete.
 */
export async function writeBackup(args: BackupArguments, output: Output): Promise<void> {
  const { file, options } = args;
  const unfinished = readMarker(options.brine.stateDir);
  if (unfinished !== undefined) {
    throw new RefusedError(`the restore of ${unfinished.file} is not done: end it first`);
  }
  refuseWithoutData(options);
  const isRunning = runningMaster(options) !== undefined;
  const owner = options.user === 'root' ? undefined : await ownerOf(options.user);
  let isMade = false;
  for (let attempt = 1; ; attempt += 1) {
    const startedAt = performance.now();
    const archive = await createArchive(file);
    try {
      const { key, isNew } = await loadOrMakeKey(options, owner);
      isMade ||= isNew;
      const manifest = await writeOnce(args, key, archive, output);
      const bytes = await archive.finish();
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
      output.out(manifestLines(manifest));
      output.out(`${file}: ${bytesInWords(bytes)}, ${seconds} s\n`);
      output.out(`key: ${keyPath(options)}${isMade ? ` was made: ${KEEP_IT}` : ''}\n`);
      return;
    } catch (error) {
      await archive.drop();
      const mayGoWell = error instanceof BusError && error.code === 'BUS_STREAM_AWAY';
      if (!mayGoWell || attempt === ATTEMPTS) throw error;
      output.err(`brine backup: NATS: ${error.message}: it begins again\n`);
    } finally {
      // Servers started by root leave files that the master's user must be able to write.
      if (!isRunning) await giveTo(owner, [options.brine.stateDir]);
    }
  }
}

async function writeOnce(
  { options, speed, release }: BackupArguments,
  key: BackupKey,
  archive: ArchiveFile,
  output: Output,
): Promise<Manifest> {
  const servers = await openServers(options, { as: 'admin', log: commandLog('backup', output) });
  try {
    const clock = { now: () => performance.now(), wait: (ms: number) => sleep(ms) };
    const about = {
      name: randomUUID(),
      release,
      master: options.id,
      host: options.brine.host,
    };
    return await makeBackup(liveSource(options, servers), about, {
      write: steady(speed * MIB, archive.write, clock),
      key,
      now: Date.now,
      onPart: (name) => output.status?.(name),
    });
  } finally {
    output.status?.('');
    await servers.close();
  }
}

/** Otherwise servers would be started only to find no data. */
function refuseWithoutData({ brine }: MasterOptions): void {
  for (const which of ['nats', 'postgres'] as const) {
    const { url } = brine[which];
    const dir = join(brine.stateDir, which);
    if ((url !== undefined && url !== '') || existsSync(dir)) continue;
    throw new RefusedError(`no master has run here: ${dir} is not there. Is -c right?`);
  }
}
