import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BackupKey, makeBackup, type Manifest, steady } from '@brine/backup';
import { BusError } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { runningMaster } from '@brine/master-host';
import { EXIT } from '../exit-codes.ts';
import { giveTo } from '../migrate/give-to.ts';
import { BRINE_VERSION } from '../options/common-groups.ts';
import type { Terminal } from '../terminal.ts';
import { type ArchiveFile, createArchive } from './archive-file.ts';
import { refused } from './in-words.ts';
import { keyPath, loadOrMakeKey } from './key-file.ts';
import { liveSource } from './live-source.ts';
import { readMarker } from './marker.ts';
import { backupServers, masterOwner } from './servers.ts';
import { bytesInWords, manifestLines } from './show.ts';

const MIB = 1024 * 1024;
/** The server gives up a snapshot where the stream was trimmed before it had copied that part. */
const ATTEMPTS = 3;

const KEEP_IT =
  'keep a copy where the backups are not, a restore on another host asks for it (--key-file)';

/** What `brine backup` takes. */
export interface BackupArguments {
  readonly file: string;
  readonly options: MasterOptions;
  /** MiB a second at most, before they are packed. */
  readonly speed: number;
}

/**
 * `brine backup`: all that is Brine's own goes into one file, while the master runs. Gives the exit
 * code. The file is there when it is whole; one that stands there is replaced then.
 */
export async function writeBackup(args: BackupArguments, terminal: Terminal): Promise<number> {
  const { file, options } = args;
  const unfinished = readMarker(options.brine.stateDir);
  if (unfinished !== undefined) {
    throw refused('backup', `the restore of ${unfinished.file} is not done: end it first`);
  }
  refuseWithoutData(options);
  const isRunning = runningMaster(options) !== undefined;
  const owner = await masterOwner('backup', options);
  let isMade = false;
  for (let attempt = 1; ; attempt += 1) {
    const startedAt = performance.now();
    const archive = await createArchive(file);
    try {
      const { key, isNew } = await loadOrMakeKey(options, owner);
      isMade ||= isNew;
      const manifest = await writeOnce(args, key, archive, terminal);
      const bytes = await archive.finish();
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
      terminal.out(manifestLines(manifest));
      terminal.out(`${file}: ${bytesInWords(bytes)}, ${seconds} s\n`);
      terminal.out(`key: ${keyPath(options)}${isMade ? ` was made: ${KEEP_IT}` : ''}\n`);
      return EXIT.ok;
    } catch (error) {
      await archive.drop();
      const mayGoWell = error instanceof BusError && error.code === 'BUS_STREAM_AWAY';
      if (!mayGoWell || attempt === ATTEMPTS) throw error;
      terminal.err(`brine backup: NATS: ${error.message}: it begins again\n`);
    } finally {
      // Servers that root ran leave files that the master's user must be able to write.
      if (!isRunning) await giveTo(owner, [options.brine.stateDir]);
    }
  }
}

async function writeOnce(
  { options, speed }: BackupArguments,
  key: BackupKey,
  archive: ArchiveFile,
  terminal: Terminal,
): Promise<Manifest> {
  const servers = await backupServers(options, 'backup', terminal);
  try {
    const clock = { now: () => performance.now(), wait: (ms: number) => sleep(ms) };
    const about = {
      name: randomUUID(),
      release: BRINE_VERSION,
      master: options.id,
      host: options.brine.host,
    };
    return await makeBackup(liveSource(options, servers), about, {
      write: steady(speed * MIB, archive.write, clock),
      key,
      now: Date.now,
      onPart: (name) => terminal.status?.(name),
    });
  } finally {
    terminal.status?.('');
    await servers.close();
  }
}

/** Servers would be made only to find nothing in them. */
function refuseWithoutData({ brine }: MasterOptions): void {
  for (const which of ['nats', 'postgres'] as const) {
    const { url } = brine[which];
    const dir = join(brine.stateDir, which);
    if ((url !== undefined && url !== '') || existsSync(dir)) continue;
    throw refused('backup', `no master has run here: ${dir} is not there. Is -c right?`);
  }
}
