import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLocked, withLock } from '@brine/files';
import { accessEnvironment, type GitAccess } from './access.ts';
import { type GitCall, runGit } from './run-git.ts';

/** What a copy fetches, and how. */
export interface GitSource {
  readonly url: string;
  readonly refspecs: readonly string[];
  /** Where the refspecs put the branches. */
  readonly branches: 'refs/heads' | 'refs/remotes';
  /** Commits fetched of each ref; 0: all. */
  readonly depth: number;
  /** Longest time of a fetch; a first one brings the whole history. */
  readonly fetchMs: number;
  readonly access: GitAccess;
}

/** The refs of a remote: names to commits. */
export interface Refs {
  readonly branches: ReadonlyMap<string, string>;
  readonly tags: ReadonlyMap<string, string>;
}

/** How long, and how often, a fetch that was asked for waits for the end of another, in ms. */
const RENEW_WAIT_MS = 60_000;
const RENEW_LOOK_MS = 100;
/** Written after each fetch: its time shows other workers of the host that refs changed. */
const STAMP = 'brine-fetched';
const LOCK = 'update.lk';
/** `git init` makes this last (git: setup.c init_db, create_object_directory). */
const LAST_MADE = 'objects/info';
/** Timers of workers are not of one moment: a fetch is due a little early. */
const DUE_SHARE = 0.9;
const NEVER_READ = -1;

/** A bare copy of a remote repository. Workers of a host share its directory. */
export class GitCopy {
  /** How git is run on the copy. */
  readonly call: GitCall & { readonly signal: AbortSignal };
  /** The lock of its updates. */
  readonly lockPath: string;
  readonly #source: GitSource;
  #refs: Refs = { branches: new Map(), tags: new Map() };
  /** Time of the stamp when the refs were read. */
  #readAt = NEVER_READ;

  constructor(dir: string, source: GitSource, signal: AbortSignal) {
    this.#source = source;
    this.call = { dir, env: accessEnvironment(source.url, source.access), signal };
    this.lockPath = join(dir, LOCK);
  }

  /** The refs that {@link refresh} or an update has read. */
  get refs(): Refs {
    return this.#refs;
  }

  /**
   * Fetches and reads the refs; true where that changed a branch or a tag. While another worker
   * fetches, reads them only and gives undefined.
   * @throws GitError if the fetch fails; the refs from before stay.
   */
  async update(): Promise<boolean | undefined> {
    const before = await withLock(this.lockPath, async () => {
      if (!(await this.#isMade())) await this.#make();
      // Another worker's fetch is no news of this one.
      await this.#readRefs();
      const known = summaryOf(this.#refs);
      await this.#fetch();
      return known;
    });
    await this.#readRefs();
    return before === undefined ? undefined : summaryOf(this.#refs) !== before;
  }

  /**
   * Fetches also where another worker has just begun to: its fetch may have been too early. Gives
   * undefined while an operator's lock is there, or the other fetch takes too long.
   * @throws GitError as {@link update}
   */
  async renew(): Promise<boolean | undefined> {
    const until = performance.now() + RENEW_WAIT_MS;
    for (;;) {
      const changed = await this.update();
      if (changed !== undefined) return changed;
      if ((await isLocked(this.lockPath)) || performance.now() > until) return undefined;
      await sleep(RENEW_LOOK_MS, undefined, { signal: this.call.signal });
    }
  }

  /**
   * As {@link update}, unless a worker of this host has fetched within the interval: then it reads
   * the refs only and gives undefined.
   * @throws GitError as {@link update}
   */
  async updateWhereDue(intervalMs: number): Promise<boolean | undefined> {
    if (Date.now() - (await this.#stampedAt()) >= intervalMs * DUE_SHARE) return this.update();
    await this.refresh();
    return undefined;
  }

  /** Reads the refs where a worker of this host has fetched since. @throws GitError */
  async refresh(): Promise<void> {
    if ((await this.#stampedAt()) !== this.#readAt) await this.#readRefs();
  }

  /** Empties the copy; false while it is being updated, or locked. @throws GitError */
  async clear(): Promise<boolean> {
    const cleared = await withLock(this.lockPath, async () => {
      for (const name of await readdir(this.call.dir)) {
        if (name !== LOCK) await rm(join(this.call.dir, name), { recursive: true, force: true });
      }
      await this.#make();
      await this.#stamp();
      return true;
    });
    if (cleared === true) await this.#readRefs();
    return cleared === true;
  }

  /** Under the lock: git fails where two make a copy at once. @throws GitError */
  async #make(): Promise<void> {
    await runGit(['init', '--quiet', '--bare', '.'], this.call);
  }

  /** False also while another worker makes it. */
  async #isMade(): Promise<boolean> {
    return (await stat(join(this.call.dir, LAST_MADE)).catch(() => undefined)) !== undefined;
  }

  async #fetch(): Promise<void> {
    const { depth, fetchMs, refspecs, url } = this.#source;
    const shallow = depth > 0 ? ['--depth', String(depth)] : [];
    await runGit(
      ['fetch', '--quiet', '--prune', '--no-tags', '--force', ...shallow, '--', url, ...refspecs],
      { ...this.call, timeoutMs: fetchMs },
    );
    await this.#stamp();
  }

  async #stamp(): Promise<void> {
    await writeFile(join(this.call.dir, STAMP), '');
  }

  /** 0: it was never fetched by this release. */
  async #stampedAt(): Promise<number> {
    const found = await stat(join(this.call.dir, STAMP)).catch(() => undefined);
    return found?.mtimeMs ?? 0;
  }

  async #readRefs(): Promise<void> {
    if (!(await this.#isMade())) return;
    // Taken before: a fetch meanwhile is seen the next time.
    const stampedAt = await this.#stampedAt();
    const format = '--format=%(refname) %(objectname) %(*objectname)';
    const args = ['for-each-ref', format, this.#source.branches, 'refs/tags'];
    const listed = await runGit(args, this.call);
    const branches = new Map<string, string>();
    const tags = new Map<string, string>();
    for (const line of listed.toString('utf8').split('\n')) {
      const [name = '', sha = '', peeled = ''] = line.split(' ');
      const commit = peeled === '' ? sha : peeled;
      const branch = /^refs\/(?:heads|remotes\/[^/]+)\/(.+)$/.exec(name)?.[1];
      if (branch !== undefined && branch !== 'HEAD') branches.set(branch, commit);
      const tag = /^refs\/tags\/(.+)$/.exec(name)?.[1];
      if (tag !== undefined) tags.set(tag, commit);
    }
    this.#refs = { branches, tags };
    this.#readAt = stampedAt;
  }
}

/** The same for the same branches and tags at the same commits. */
function summaryOf({ branches, tags }: Refs): string {
  return JSON.stringify([[...branches].sort(), [...tags].sort()]);
}
