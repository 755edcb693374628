import { mkdir, rm, rmdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, isSystemError, writeAtomic } from '@brine/files';
import { pack, type SaltMap } from '@brine/wire';
import { CachedirError } from './errors.ts';

/**
 * Where a release keeps what it knows of minions (Salt: salt/cache/localfs.py). 3006 and 3007:
 * `minions/<id>/data.p` with grains and pillar, `minions/<id>/mine.p`. 3008: `grains/<id>.p`,
 * `pillar/<id>.p`, `pillar/<id>:<environment>.p`, `mine/<id>.p`.
 */
export type BankLayout = '3006' | '3008';

/** A file of a bank: the bank as a path, and the key in it. */
interface BankPlace {
  readonly bank: string;
  readonly key: string;
}

/** As Python's tempfile makes them: pillars contain secrets. */
const FILE_MODE = 0o600;
const DIR_MODE = 0o755;

/** Below cachedir: stock tools take every name in a bank for a minion. */
const DRAFTS = '.brine-drafts';

/** The banks of minions on disk, which stock `salt` and `salt-run` read in their own process. */
export class BankFiles {
  readonly layout: BankLayout;
  readonly #cachedir: string;
  readonly #pillarEnvs: readonly string[];
  /** Resolves once what a process that was killed left in the drafts is gone. */
  #swept: Promise<void> | undefined;

  /** `pillarEnvs`: environments that a minion may have a pillar of its own for. */
  constructor(options: {
    readonly cachedir: string;
    readonly layout: BankLayout;
    readonly pillarEnvs?: readonly string[];
  }) {
    this.layout = options.layout;
    this.#cachedir = options.cachedir;
    this.#pillarEnvs = options.pillarEnvs ?? [];
  }

  /** Of 3008: one bank of a minion; a pillar may be of an environment. */
  async write(
    bank: 'grains' | 'pillar' | 'mine',
    id: string,
    data: SaltMap | undefined,
    given: { readonly env?: string | undefined; readonly timeMs: number },
  ): Promise<void> {
    const key = given.env === undefined ? id : `${id}:${given.env}`;
    const place = this.layout === '3008' ? { bank, key } : mineOf(bank, id);
    if (place !== undefined) await this.#put(place, data, given.timeMs);
  }

  /** Of 3006: grains and pillar of a minion. A missing one is left out, as `cache.clear_…` does. */
  async writeData(
    id: string,
    data: { readonly grains: SaltMap | undefined; readonly pillar: SaltMap | undefined },
    timeMs: number,
  ): Promise<void> {
    const found: SaltMap = new Map();
    for (const [name, value] of Object.entries(data)) if (value) found.set(name, value);
    const place = { bank: join('minions', safeName(id)), key: 'data' };
    await this.#put(place, found.size === 0 ? undefined : found, timeMs);
  }

  /** When a bank of a minion was written, unix ms; undefined where there is none. */
  async writtenMs(
    bank: 'grains' | 'pillar' | 'mine',
    id: string,
    env?: string,
  ): Promise<number | undefined> {
    const key = env === undefined ? id : `${id}:${env}`;
    const of3006 = mineOf(bank, id) ?? { bank: join('minions', safeName(id)), key: 'data' };
    const place = this.layout === '3008' ? { bank, key } : of3006;
    const path = join(this.#cachedir, place.bank, `${safeName(place.key)}.p`);
    return (await ifThere(stat(path)))?.mtimeMs;
  }

  /** Removes everything of a minion whose key is gone. */
  async remove(id: string): Promise<void> {
    const name = safeName(id);
    if (this.layout === '3006') {
      await rm(join(this.#cachedir, 'minions', name), { recursive: true, force: true });
      return;
    }
    const pillars = [name, ...this.#pillarEnvs.map((env) => safeName(`${name}:${env}`))];
    for (const file of pillars) {
      await rm(join(this.#cachedir, 'pillar', `${file}.p`), { force: true });
    }
    for (const bank of ['grains', 'mine']) {
      await rm(join(this.#cachedir, bank, `${name}.p`), { force: true });
    }
  }

  async #put({ bank, key }: BankPlace, data: SaltMap | undefined, timeMs: number): Promise<void> {
    const dir = join(this.#cachedir, bank);
    const path = join(dir, `${safeName(key)}.p`);
    if (data === undefined) {
      await rm(path, { force: true });
      if (this.layout === '3006') await removeIfEmpty(dir);
      return;
    }
    await this.#prepare(dir);
    const draftsIn = join(this.#cachedir, DRAFTS);
    // Not synced: it is a copy, and a lost one is written again with the next change.
    await writeAtomic(path, pack(data, 'bin'), { mode: FILE_MODE, synced: false, draftsIn });
    const seconds = timeMs / 1_000;
    await utimes(path, seconds, seconds);
  }

  async #prepare(dir: string): Promise<void> {
    const drafts = join(this.#cachedir, DRAFTS);
    // Once for all that write at the same time: a later one would take the draft of another.
    this.#swept ??= rm(drafts, { recursive: true, force: true }).catch((error: unknown) => {
      this.#swept = undefined;
      throw error;
    });
    await this.#swept;
    await mkdir(drafts, { recursive: true, mode: 0o700 });
    await mkdir(dir, { recursive: true, mode: DIR_MODE });
  }
}

/** Of 3006 only the mine is a file of its own. */
function mineOf(bank: string, id: string): BankPlace | undefined {
  return bank === 'mine' ? { bank: join('minions', safeName(id)), key: 'mine' } : undefined;
}

/** @throws CachedirError for a name that would leave its directory, or is no file name */
function safeName(name: string): string {
  // With the end `.p`.
  const isOdd = name === '' || name.startsWith('.') || Buffer.byteLength(name) > 253;
  if (isOdd || /[/\\\0]/.test(name)) {
    throw new CachedirError('SALT_CACHEDIR_BAD_ID', 'minion id can not be a file name');
  }
  return name;
}

async function removeIfEmpty(dir: string): Promise<void> {
  try {
    await rmdir(dir);
  } catch (error) {
    if (!isSystemError(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw error;
  }
}
