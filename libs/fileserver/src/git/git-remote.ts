import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GitCall, isHeld, readTree, runGit, type Tree, withLock } from '@brine/git';
import { LRUCache } from 'lru-cache';
import { commitOf, isExposed, refOf, type Refs } from './environments.ts';
import { GitConfigError, type RemoteConfig } from './remote-config.ts';

/** Longest time a fetch takes; a first one brings the whole history. */
const FETCH_TIMEOUT_MS = 10 * 60_000;
/** How long, and how often, a fetch that was asked for looks for the end of another, in ms. */
const RENEW_WAIT_MS = 60_000;
const RENEW_LOOK_MS = 100;
/** Written after each fetch: other workers of the host see by its time that refs changed. */
const STAMP = 'brine-fetched';
const LOCK = 'update.lk';
/** What `git init` makes last (git: setup.c init_db, create_object_directory). */
const LAST_MADE = 'objects/info';
/** Timers of workers are not of one moment: a fetch is due a little early. */
const DUE_SHARE = 0.9;
/** Commits whose paths are kept in memory. */
const TREES_MAX = 32;

/** One remote repository, kept as a bare copy below the cache. */
export class GitRemote {
  readonly config: RemoteConfig;
  /** The cache of this remote. The same URL fetched in another way has another cache. */
  readonly dir: string;
  readonly #signal: AbortSignal;
  readonly #onChange: () => void;
  readonly #trees = new LRUCache<string, Promise<Tree>>({ max: TREES_MAX });
  #refs: Refs = { branches: new Map(), tags: new Map() };
  /** Time of the stamp when the refs were read. */
  #readAt = 0;

  /** @param onChange called after a fetch of this worker that brought something new */
  constructor(
    config: RemoteConfig,
    cacheDir: string,
    signal: AbortSignal,
    onChange: () => void = () => undefined,
  ) {
    this.config = config;
    this.dir = join(cacheDir, 'remotes', cacheKey(config));
    this.#signal = signal;
    this.#onChange = onChange;
  }

  get refs(): Refs {
    return this.#refs;
  }

  /** Where the lock of its updates is. */
  get lockPath(): string {
    return join(this.dir, LOCK);
  }

  /** How git is run on the copy. */
  get call(): GitCall {
    return { cwd: this.dir, env: accessEnv(this.config), signal: this.#signal };
  }

  /** Reads what an earlier start left in the copy. @throws GitError */
  async open(): Promise<void> {
    await mkdir(this.dir, { recursive: true, mode: 0o700 });
    await this.#readRefs();
  }

  /**
   * Fetches and reads the refs. While another worker fetches, reads them only and gives false.
   * @throws GitError if the fetch fails; the refs from before stay.
   */
  async update(): Promise<boolean> {
    const { depth, refspecs, url } = this.config;
    const shallow = depth > 0 ? ['--depth', String(depth)] : [];
    const fetched = await withLock(this.lockPath, async () => {
      if (!(await this.#isMade())) await this.#make();
      // What another worker has fetched is no news of this one.
      await this.#readRefs();
      const before = wordOf(this.#refs);
      await runGit(
        ['fetch', '--quiet', '--prune', '--no-tags', '--force', ...shallow, '--', url, ...refspecs],
        { ...this.call, timeoutMs: FETCH_TIMEOUT_MS },
      );
      await this.#stamp();
      return { before };
    });
    await this.#readRefs();
    if (fetched === undefined) return false;
    if (wordOf(this.#refs) !== fetched.before) this.#onChange();
    return true;
  }

  /**
   * Fetches also where another worker has just begun to: its fetch may have been too early. Gives
   * false while an operator's lock is there, or the other one takes too long.
   * @throws GitError as {@link update}
   */
  async renew(): Promise<boolean> {
    const until = performance.now() + RENEW_WAIT_MS;
    while (!(await this.update())) {
      if ((await isHeld(this.lockPath)) || performance.now() > until) return false;
      await sleep(RENEW_LOOK_MS, undefined, { signal: this.#signal });
    }
    return true;
  }

  /**
   * As {@link update}, unless a worker of this host has fetched within the interval: it has done
   * the round of all. @throws GitError as {@link update}
   */
  async updateWhereDue(intervalMs: number): Promise<boolean> {
    if (Date.now() - (await this.#stampedAt()) >= intervalMs * DUE_SHARE) return this.update();
    await this.refresh();
    return false;
  }

  /** Reads the refs where another worker of this host has fetched since. @throws GitError */
  async refresh(): Promise<void> {
    if ((await this.#stampedAt()) !== this.#readAt) await this.#readRefs();
  }

  /** Empties the copy; false while it is being updated, or locked. @throws GitError */
  async clear(): Promise<boolean> {
    const cleared = await withLock(this.lockPath, async () => {
      for (const name of await readdir(this.dir)) {
        if (name !== LOCK) await rm(join(this.dir, name), { recursive: true, force: true });
      }
      await this.#make();
      await this.#stamp();
      return true;
    });
    if (cleared === true) await this.#readRefs();
    return cleared === true;
  }

  /** The files of an environment; undefined where this remote does not have it. */
  async treeOf(env: string): Promise<Tree | undefined> {
    if (!isExposed(this.config, env)) return undefined;
    const { refTypes, fallback } = this.config;
    const ref = refOf(this.config, env);
    if (ref === undefined) return undefined;
    const commit =
      commitOf(refTypes, this.#refs, ref) ??
      (fallback === '' ? undefined : commitOf(refTypes, this.#refs, fallback));
    return commit === undefined ? undefined : this.#tree(commit);
  }

  async #tree(commit: string): Promise<Tree | undefined> {
    let tree = this.#trees.get(commit);
    if (tree === undefined) {
      tree = readTree(commit, this.call);
      this.#trees.set(commit, tree);
    }
    try {
      return await tree;
    } catch {
      // An id that names no commit here: a later fetch may bring it.
      this.#trees.delete(commit);
      return undefined;
    }
  }

  /** Under the lock: git fails where two make a copy at once. @throws GitError */
  async #make(): Promise<void> {
    await runGit(['init', '--quiet', '--bare', '.'], this.call);
  }

  /** False also while another worker makes it. */
  async #isMade(): Promise<boolean> {
    return (await stat(join(this.dir, LAST_MADE)).catch(() => undefined)) !== undefined;
  }

  async #stamp(): Promise<void> {
    await writeFile(join(this.dir, STAMP), '');
  }

  /** 0: it was never fetched by this release. */
  async #stampedAt(): Promise<number> {
    const found = await stat(join(this.dir, STAMP)).catch(() => undefined);
    return found?.mtimeMs ?? 0;
  }

  async #readRefs(): Promise<void> {
    if (!(await this.#isMade())) return;
    // Taken before: a fetch meanwhile is seen the next time.
    const stampedAt = await this.#stampedAt();
    const format = '--format=%(refname) %(objectname) %(*objectname)';
    const listed = await runGit(['for-each-ref', format, 'refs/remotes', 'refs/tags'], this.call);
    const branches = new Map<string, string>();
    const tags = new Map<string, string>();
    for (const line of listed.toString('utf8').split('\n')) {
      const [name = '', sha = '', peeled = ''] = line.split(' ');
      const commit = peeled === '' ? sha : peeled;
      const branch = /^refs\/remotes\/[^/]+\/(.+)$/.exec(name)?.[1];
      if (branch !== undefined && branch !== 'HEAD') branches.set(branch, commit);
      const tag = /^refs\/tags\/(.+)$/.exec(name)?.[1];
      if (tag !== undefined) tags.set(tag, commit);
    }
    this.#refs = { branches, tags };
    this.#readAt = stampedAt;
  }
}

/** The same for the same branches and tags at the same commits. */
function wordOf({ branches, tags }: Refs): string {
  return JSON.stringify([[...branches].sort(), [...tags].sort()]);
}

/**
 * The name of a remote's cache. Two remotes share one only if they fetch the same in the same way:
 * files that one key may read must not be served for another.
 */
function cacheKey(config: RemoteConfig): string {
  const { url, name, refspecs, depth, user, password, privkey, proxy, sslVerify } = config;
  const fetched = [url, name, refspecs, depth, user, password, privkey, proxy, sslVerify];
  return createHash('sha256').update(JSON.stringify(fetched)).digest('hex').slice(0, 32);
}

/** Credentials by the environment, so that no list of processes shows them. */
function accessEnv(config: RemoteConfig): Record<string, string> {
  const { url, user, password, insecureAuth, privkey, proxy, sslVerify } = config;
  const env: Record<string, string> = {};
  if (!sslVerify) env['GIT_SSL_NO_VERIFY'] = 'true';
  if (proxy !== '') {
    for (const name of ['http_proxy', 'https_proxy']) env[name] = proxy;
  }
  if (privkey !== '') {
    const quoted = `'${privkey.replaceAll("'", `'\\''`)}'`;
    env['GIT_SSH_COMMAND'] = `ssh -o BatchMode=yes -o IdentitiesOnly=yes -i ${quoted}`;
  }
  if (user !== '' && password !== '') {
    if (!url.startsWith('https://') && !(insecureAuth && url.startsWith('http://'))) {
      throw new GitConfigError(`${url}: user and password go over https only (insecure_auth)`);
    }
    env['GIT_CONFIG_COUNT'] = '1';
    env['GIT_CONFIG_KEY_0'] = 'http.extraHeader';
    const basic = Buffer.from(`${user}:${password}`).toString('base64');
    env['GIT_CONFIG_VALUE_0'] = `Authorization: Basic ${basic}`;
  }
  return env;
}
