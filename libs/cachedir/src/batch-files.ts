import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, readIfThere, writeAtomic } from '@brine/files';
import { isMap, pack, type SaltMap, unpack } from '@brine/wire';
import { CachedirError } from './errors.ts';
import type { JobFiles } from './job-files.ts';

const STATE_FILE = '.batch.p';
const INDEX_FILE = 'batch_active.p';
const STATE_MAX_BYTES = 16 * 1024 * 1024;
const FILE = { mode: 0o644, synced: false } as const;

/**
 * What 3008's tools keep and read of batches on the master's host (Salt:
 * salt/utils/batch_state.py): the state of each in its job's directory, and a list of active ones.
 */
export class BatchFiles {
  readonly #jobs: Pick<JobFiles, 'dir'>;
  readonly #cachedir: string;

  constructor(jobs: Pick<JobFiles, 'dir'>, cachedir: string) {
    this.#jobs = jobs;
    this.#cachedir = cachedir;
  }

  /** Writes the state of a batch over the one before. */
  async writeState(jid: string, state: SaltMap): Promise<void> {
    const dir = this.#jobs.dir(jid);
    await mkdir(dir, { recursive: true, mode: 0o755 });
    // A directory without the file `jid` would never be cleaned.
    if ((await readIfThere(join(dir, 'jid'))) === undefined) {
      await writeAtomic(join(dir, 'jid'), jid, FILE);
    }
    await writeAtomic(join(dir, STATE_FILE), pack(state, 'bin'), FILE);
  }

  /**
   * The state of a batch that the master's user or root wrote; undefined where there is none.
   * @throws CachedirError for the file of another user, and for one that is too large
   */
  async readOwnState(jid: string): Promise<SaltMap | undefined> {
    const path = join(this.#jobs.dir(jid), STATE_FILE);
    const found = await ifThere(stat(path));
    if (found === undefined) return undefined;
    const { uid, size } = found;
    if (uid !== 0 && uid !== process.getuid?.()) {
      throw new CachedirError('SALT_CACHEDIR_UNREADABLE', `${path} is another user's`);
    }
    if (size > STATE_MAX_BYTES) {
      throw new CachedirError('SALT_CACHEDIR_UNREADABLE', `${path} has ${size} bytes`);
    }
    const bytes = await readIfThere(path);
    const state = bytes === undefined ? undefined : unpack(bytes);
    return isMap(state) ? state : undefined;
  }

  /** The jids that `batch.list_active` of stock tools looks at. */
  async active(): Promise<ReadonlySet<string>> {
    const bytes = await readIfThere(join(this.#cachedir, INDEX_FILE));
    const list = bytes === undefined || bytes.length === 0 ? [] : unpack(bytes);
    return new Set(Array.isArray(list) ? list.filter((jid) => typeof jid === 'string') : []);
  }

  /** Adds a jid to these, or takes it away. */
  async mark(jid: string, isActive: boolean): Promise<void> {
    const jids = new Set(await this.active());
    if (jids.has(jid) === isActive) return;
    if (isActive) jids.add(jid);
    else jids.delete(jid);
    await writeAtomic(join(this.#cachedir, INDEX_FILE), pack([...jids].sort(), 'bin'), FILE);
  }
}
