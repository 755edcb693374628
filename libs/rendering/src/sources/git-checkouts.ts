import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutOf, GitCopy, GitError, runGit } from '@brine/git';
import { errorText } from '@brine/tasks';
import type { SaltMap, SaltValue } from '@brine/wire';
import { LRUCache } from 'lru-cache';
import { remotesOf } from './git-remotes.ts';

/** How repositories are fetched (`git_pillar_…`). */
export interface GitSettings {
  readonly cacheDir: string;
  readonly updateIntervalMs: number;
  readonly sslVerify: boolean;
  readonly user: string;
  readonly password: string;
  readonly privkey: string;
}

/** The refs wanted of a remote. */
export interface GitPlace {
  readonly url: string;
  /** Exact names of branches or tags; the first that exists is used. */
  readonly refs: readonly string[];
  /** Those of them that may be ids of commits too, since no minion named them. */
  readonly ownRefs: readonly string[];
}

/** Selects remotes by branch, and by URL or name; null: any. */
export interface AskedRemotes {
  readonly branch: string | null;
  readonly repo: string | null;
}

/** The copies of repositories, below a cache directory. */
const COPIES = 'brine-git-pillar';
/** A file in each copy whose time is that of the last fetch, successful or not. */
const MARK = 'fetched';
/** Repositories whose refs are kept in memory; a minion may name any (`on_demand_ext_pillar`). */
const COPIES_MAX = 256;
/** A pillar takes up to 45 s. If a remote answers later, the last fetch is used. */
const FETCH_MS = 30_000;

const COMMIT_ID = /^[0-9a-f]{40}$/;

interface Copy {
  readonly git: GitCopy;
  readonly dir: string;
  readonly mark: string;
}

/** Repositories of git pillars. Workers of a host share their copies and checkouts. */
export class GitCheckouts {
  readonly #settings: GitSettings;
  readonly #onTrouble: (text: string) => void;
  readonly #stop = new AbortController();
  readonly #copies = new LRUCache<string, Copy>({ max: COPIES_MAX });

  constructor(settings: GitSettings, onTrouble: (text: string) => void) {
    this.#settings = settings;
    this.#onTrouble = onTrouble;
  }

  /**
   * The directory with the files of a branch, tag or commit, fetched again when due.
   * @throws GitError if the repository has no such ref, or no space for its files
   */
  async of({ url, refs, ownRefs }: GitPlace): Promise<string> {
    const copy = this.#copyOf(url);
    await this.#fetchWhereDue(url, copy);
    for (const ref of refs) {
      const commit = await commitOf(copy.git, ref, ownRefs.includes(ref));
      if (commit !== undefined) return checkoutOf(copy.git.call, copy.dir, commit);
    }
    throw new GitError(`${url} has no ${refs.join(' or ')}`);
  }

  /**
   * Fetches the remotes of all git pillars of `ext_pillar` now (salt/runners/git_pillar.py). For
   * the text of each remote true if something changed, null if not, false after a failure, which is
   * reported.
   * @param preset the branch of a remote that names none
   */
  async update(
    extPillar: SaltValue,
    preset: string,
    asked: AskedRemotes,
    signal: AbortSignal,
  ): Promise<SaltMap> {
    const found: SaltMap = new Map();
    for (const { id, url, branch, name } of remotesOf(extPillar, preset)) {
      if (asked.branch !== null && asked.branch !== branch) continue;
      if (asked.repo !== null && asked.repo !== url && asked.repo !== name) continue;
      signal.throwIfAborted();
      const changed = await this.#fetch(url, this.#copyOf(url), true);
      found.set(id, changed === undefined ? false : changed || null);
    }
    return found;
  }

  /** Ends running fetches. */
  close(): void {
    this.#stop.abort();
  }

  #copyOf(url: string): Copy {
    const known = this.#copies.get(url);
    if (known !== undefined) return known;
    if (url.startsWith('-')) throw new GitError(`not a URL: ${url}`);
    const { cacheDir, ...access } = this.#settings;
    const named = createHash('sha256')
      .update(JSON.stringify([url, access.user]))
      .digest('hex');
    const dir = join(cacheDir, COPIES, named.slice(0, 32));
    const source = {
      url,
      refspecs: ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'],
      branches: 'refs/heads',
      depth: 0,
      fetchMs: FETCH_MS,
      access: { ...access, insecureAuth: true, proxy: '' },
    } as const;
    const git = new GitCopy(join(dir, 'git'), source, this.#stop.signal);
    const copy = { git, dir, mark: join(dir, MARK) };
    this.#copies.set(url, copy);
    return copy;
  }

  async #fetchWhereDue(url: string, copy: Copy): Promise<void> {
    await copy.git.refresh();
    const last = (await stat(copy.mark).catch(() => undefined))?.mtimeMs ?? 0;
    const isNew = copy.git.refs.branches.size === 0;
    if (!isNew && Date.now() - last < this.#settings.updateIntervalMs) return;
    await this.#fetch(url, copy, isNew);
  }

  /**
   * Fetches; true if that changed a branch or a tag. Undefined while another worker fetches, and
   * after a failure, which is reported.
   * @param waits for the end of another worker's fetch, and then fetches too
   */
  async #fetch(
    url: string,
    { git, dir, mark }: Copy,
    waits: boolean,
  ): Promise<boolean | undefined> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    // Marked before the fetch, so that no other worker fetches too. An unreachable remote is not
    // tried again until the next interval.
    await writeFile(mark, '');
    try {
      if (!waits) return await git.update();
      const changed = await git.renew();
      if (changed === undefined) throw new GitError('another fetch of it does not end');
      return changed;
    } catch (error) {
      this.#onTrouble(`git_pillar: ${url} was not fetched: ${errorText(error)}`);
      return undefined;
    }
  }
}

/** When a repository was last fetched on this host, or tried, in Unix ms; undefined for never. */
export function lastFetchMs(cacheDir: string): number | undefined {
  const copies = join(cacheDir, COPIES);
  if (!existsSync(copies)) return undefined;
  const times = readdirSync(copies).map(
    (name) => statSync(join(copies, name, MARK), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  const last = Math.max(0, ...times);
  return last === 0 ? undefined : last;
}

/** Exact names only, as in gitfs: minions choose them, and git's own syntax allows much more. */
async function commitOf(git: GitCopy, ref: string, isOwn: boolean): Promise<string | undefined> {
  const named = git.refs.branches.get(ref) ?? git.refs.tags.get(ref);
  if (named !== undefined) return named;
  if (!isOwn || !COMMIT_ID.test(ref)) return undefined;
  const isThere = runGit(['cat-file', '-e', `${ref}^{commit}`], git.call);
  return isThere.then(
    () => ref,
    () => undefined,
  );
}
