import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, isSystemError, readIfThere, writeAtomic, writeNew } from '@brine/files';
import type { SaltMap, SaltValue } from '@brine/wire';
import { isMap, pack, unpack } from '@brine/wire';
import type { JobFilesOptions } from './job-paths.ts';
import { jobDir, jobsRoot, returnDir } from './job-paths.ts';

/** Files are read by other local users through `publisher_acl`; cachedir itself bars the way. */
/** Not synced: jobs can be written again from the streams. */
const JOB_FILE = { mode: 0o644, synced: false } as const;
const DIR_MODE = 0o755;

/** What is known of a job when it is published. */
export interface JobToWrite {
  readonly jid: string;
  /** The clear load, without the caller's key. */
  readonly load: SaltMap;
  /** The minions that are expected to return; undefined writes no file of them. */
  readonly minions?: readonly string[] | undefined;
  /** Its returns are not to be kept. */
  readonly nocache?: boolean;
}

/** One return as it is in the files. */
export interface StoredReturn {
  readonly id: string;
  readonly value: SaltValue;
  readonly out?: string;
}

/**
 * The job cache on disk that stock `salt` and `salt-run jobs.*` read in their own process
 * (Salt: salt/returners/local_cache.py).
 */
export class JobFiles {
  readonly #options: JobFilesOptions;

  constructor(options: JobFilesOptions) {
    this.#options = options;
  }

  /** Directory of a job. */
  dir(jid: string): string {
    return jobDir(this.#options, jid);
  }

  /**
   * Writes the files that a waiting CLI needs. `.load.p` is last: once it is there, all are.
   * Writing the same job again is harmless.
   */
  async writeJob(job: JobToWrite): Promise<void> {
    const dir = this.dir(job.jid);
    await mkdir(dir, { recursive: true, mode: DIR_MODE });
    await writeAtomic(join(dir, 'jid'), job.jid, JOB_FILE);
    if (job.nocache) await writeAtomic(join(dir, 'nocache'), '', JOB_FILE);
    if (job.minions) {
      await writeAtomic(join(dir, '.minions.p'), pack([...job.minions], 'bin'), JOB_FILE);
    }
    await writeAtomic(join(dir, '.load.p'), pack(job.load, 'bin'), JOB_FILE);
  }

  /**
   * Writes a job of which only a return is known (salt-call, a schedule). It never replaces the
   * files of a published job; a publication that still comes replaces these.
   */
  async writeBornJob(job: JobToWrite & { readonly minions: readonly string[] }): Promise<void> {
    const dir = this.dir(job.jid);
    await mkdir(dir, { recursive: true, mode: DIR_MODE });
    await writeNew(join(dir, 'jid'), job.jid, JOB_FILE);
    await writeNew(join(dir, '.minions.p'), pack([...job.minions], 'bin'), JOB_FILE);
    await writeNew(join(dir, '.load.p'), pack(job.load, 'bin'), JOB_FILE);
  }

  /** True when the job's load is on this disk. */
  has(jid: string): Promise<boolean> {
    return isThere(join(this.dir(jid), '.load.p'));
  }

  /** The minions of one syndic: `.minions.<syndic id>.p`. */
  async writeSyndicMinions(
    jid: string,
    syndicId: string,
    minions: readonly string[],
  ): Promise<void> {
    const dir = this.dir(jid);
    // Also refuses a syndic id that would leave the directory (CVE-2024-22231).
    returnDir(dir, syndicId);
    await mkdir(dir, { recursive: true, mode: DIR_MODE });
    await writeAtomic(join(dir, `.minions.${syndicId}.p`), pack([...minions], 'bin'), JOB_FILE);
  }

  /**
   * Marks an id as a syndic's (Salt: salt/master.py AESFuncs._syndic_return), which a stock
   * `salt` does not report as not returned.
   */
  async noteSyndic(id: string): Promise<void> {
    const dir = join(this.#options.cachedir, 'syndics');
    const path = returnDir(dir, id);
    if (await isThere(path)) return;
    await mkdir(dir, { recursive: true, mode: DIR_MODE });
    await writeNew(path, '', JOB_FILE);
  }

  /**
   * Writes a minion's return; false when there is one already: the first counts, a later one may
   * be a replay. False too for a job whose returns are not to be kept (`nocache`).
   */
  async writeReturn(jid: string, id: string, value: SaltMap, out?: string): Promise<boolean> {
    const job = this.dir(jid);
    const dir = returnDir(job, id);
    const made = await mkdir(job, { recursive: true, mode: DIR_MODE });
    // A return may precede its job; without the file `jid` the directory would never be cleaned.
    if (made !== undefined) await writeAtomic(join(job, 'jid'), jid, JOB_FILE);
    else if (await isThere(join(job, 'nocache'))) return false;
    try {
      await mkdir(dir, { recursive: true, mode: DIR_MODE });
    } catch (error) {
      // A minion may have the name of a file of the job, as `jid`.
      if (isSystemError(error, 'EEXIST')) return false;
      throw error;
    }
    // The file decides: a master that was killed, or a full disk, leaves a directory without it.
    if (!(await writeNew(join(dir, 'return.p'), pack(value, 'bin'), JOB_FILE))) return false;
    if (out !== undefined) await writeAtomic(join(dir, 'out.p'), pack(out, 'bin'), JOB_FILE);
    return true;
  }

  /** Removes all that is here of a job; none is no error. */
  async remove(jid: string): Promise<void> {
    await rm(this.dir(jid), { recursive: true, force: true });
  }

  /** When the job ended, as text; shown by `jobs.list_jobs` (`job_cache_store_endtime`). */
  async writeEndTime(jid: string, text: string): Promise<void> {
    await writeAtomic(join(this.dir(jid), 'endtime'), text, JOB_FILE);
  }

  /** The stored load, or undefined. */
  async readLoad(jid: string): Promise<SaltMap | undefined> {
    const bytes = await readIfThere(join(this.dir(jid), '.load.p'));
    if (bytes === undefined) return undefined;
    const value = unpack(bytes);
    return isMap(value) ? value : undefined;
  }

  /** Sorted union of `.minions.p` and the syndics' lists. */
  async readMinions(jid: string): Promise<readonly string[]> {
    const dir = this.dir(jid);
    const all = new Set<string>();
    for (const name of await namesIn(dir)) {
      if (!name.startsWith('.minions.') || !name.endsWith('.p')) continue;
      const bytes = await readIfThere(join(dir, name));
      const value = bytes && unpack(bytes);
      if (!Array.isArray(value)) continue;
      for (const id of value) if (typeof id === 'string') all.add(id);
    }
    return [...all].sort();
  }

  /** All returns on this disk. */
  async readReturns(jid: string): Promise<readonly StoredReturn[]> {
    const dir = this.dir(jid);
    const returns: StoredReturn[] = [];
    for (const id of await namesIn(dir)) {
      if (id.startsWith('.')) continue;
      const bytes = await readIfThere(join(dir, id, 'return.p'));
      if (bytes === undefined) continue;
      const outBytes = await readIfThere(join(dir, id, 'out.p'));
      const out = outBytes && unpack(outBytes);
      const value = unpack(bytes);
      returns.push({ id, value, ...(typeof out === 'string' && { out }) });
    }
    return returns;
  }

  /** All job ids on this disk, in no order. */
  async *jids(): AsyncGenerator<string> {
    for await (const dir of this.directories()) {
      const bytes = await readIfThere(join(dir, 'jid'));
      if (bytes) yield bytes.toString('utf8').trim();
    }
  }

  /** All job directories. */
  async *directories(): AsyncGenerator<string> {
    const root = jobsRoot(this.#options.cachedir);
    for (const first of await namesIn(root)) {
      for (const second of await namesIn(join(root, first))) yield join(root, first, second);
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await ifThere(stat(path))) !== undefined;
}

async function namesIn(dir: string): Promise<readonly string[]> {
  return (await ifThere(readdir(dir))) ?? [];
}
