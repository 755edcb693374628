import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ifThere, isSystemError } from '@brine/files';
import type { JobFiles } from './job-files.ts';

/** After this many directories the cleaner rests, so that it never delays a publish. */
const DIRS_PER_STEP = 200;
const REST_MS = 20;

/**
 * Removes job directories whose file `jid` was written more than `keepJobsSeconds` ago, as
 * Salt: salt/returners/local_cache.py clean_old_jobs (by mtime: a chown of all must not keep them).
 * Returns how many; stops early on `signal`.
 */
export async function cleanOldJobs(
  files: JobFiles,
  options: {
    /** `keep_jobs_seconds`; 0 keeps everything. */
    readonly keepJobsSeconds: number;
    readonly nowMs?: number;
    readonly signal?: AbortSignal;
  },
): Promise<number> {
  if (options.keepJobsSeconds <= 0) return 0;
  const before = (options.nowMs ?? Date.now()) - options.keepJobsSeconds * 1000;
  let removed = 0;
  let seen = 0;
  for await (const dir of files.directories()) {
    if (options.signal?.aborted) break;
    seen += 1;
    if (seen % DIRS_PER_STEP === 0) await sleep(REST_MS);
    if (!(await isOlder(dir, before))) continue;
    await rm(dir, { recursive: true, force: true });
    await removeIfEmpty(dirname(dir));
    removed += 1;
  }
  return removed;
}

/** A directory without `jid` is being made, or is a rest: its own age decides. */
async function isOlder(dir: string, beforeMs: number): Promise<boolean> {
  const jid = await ifThere(stat(join(dir, 'jid')));
  if (jid !== undefined) return jid.mtimeMs < beforeMs;
  const found = await ifThere(stat(dir));
  return found !== undefined && found.ctimeMs < beforeMs;
}

async function removeIfEmpty(dir: string): Promise<void> {
  try {
    if ((await readdir(dir)).length === 0) await rmdir(dir);
  } catch (error) {
    // A new job may have come into it in between; its directory then stays.
    if (!isSystemError(error, 'ENOENT', 'ENOTEMPTY')) throw error;
  }
}
