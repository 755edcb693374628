import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { isSyslog } from '@brine/service';

/** A file system that the master writes to. */
export interface DiskSeen {
  /** The directories on it that the master writes to. */
  readonly paths: readonly string[];
  readonly freeBytes: number;
  readonly bytes: number;
  readonly freeFiles: number;
  /** 0 if the file system has no fixed number. */
  readonly files: number;
}

/** The file systems below the directories of the master, each once. */
export async function seeDisks(options: MasterOptions): Promise<DiskSeen[]> {
  const { pkiDir, cachedir, logFile, brine } = options;
  const logs = isSyslog(logFile) ? [] : [dirname(logFile)];
  const byDevice = new Map<number, DiskSeen>();
  for (const path of [brine.stateDir, cachedir, pkiDir, ...logs]) {
    const found = await nearest(path);
    if (found === undefined) continue;
    const { bsize, bavail, blocks, ffree, files } = await statfs(found.path);
    const paths = [...(byDevice.get(found.device)?.paths ?? []), path];
    byDevice.set(found.device, {
      paths,
      freeBytes: bavail * bsize,
      bytes: blocks * bsize,
      freeFiles: ffree,
      files,
    });
  }
  return [...byDevice.values()];
}

/** The directory, or its nearest existing parent. */
async function nearest(
  path: string,
): Promise<{ readonly path: string; readonly device: number } | undefined> {
  try {
    return { path, device: (await stat(path)).dev };
  } catch {
    const above = dirname(path);
    return above === path ? undefined : nearest(above);
  }
}
