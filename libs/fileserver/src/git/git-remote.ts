import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { commitOf, isExposed, refOf, type Refs } from './environments.ts';
import { GitConfigError, type RemoteConfig } from './remote-config.ts';
import { type GitCall, runGit } from './run-git.ts';
import { readTree, type Tree } from './tree.ts';
import { withLock } from './update-lock.ts';

/** Longest time a fetch takes; a first one brings the whole history. */
const FETCH_TIMEOUT_MS = 10 * 60_000;
/** Commits whose paths are kept in memory. */
const TREES_MAX = 32;

/** One remote repository, kept as a bare copy below the cache. */
export class GitRemote {
  readonly config: RemoteConfig;
  /** The cache of this remote. The same URL fetched in another way has another cache. */
  readonly dir: string;
  readonly #signal: AbortSignal;
  readonly #trees = new LRUCache<string, Promise<Tree>>({ max: TREES_MAX });
  #refs: Refs = { branches: new Map(), tags: new Map() };

  constructor(config: RemoteConfig, cacheDir: string, signal: AbortSignal) {
    this.config = config;
    this.dir = join(cacheDir, 'remotes', cacheKey(config));
    this.#signal = signal;
  }

  get refs(): Refs {
    return this.#refs;
  }

  /** How git is run on the copy. */
  get call(): GitCall {
    return { cwd: this.dir, env: accessEnv(this.config), signal: this.#signal };
  }

  /** Makes the copy where there is none, and reads what it has. @throws GitError */
  async open(): Promise<void> {
    await mkdir(this.dir, { recursive: true, mode: 0o700 });
    await runGit(['init', '--quiet', '--bare', '.'], this.call);
    await this.#readRefs();
  }

  /**
   * Fetches and reads the refs. While another worker fetches, reads them only and gives false.
   * @throws GitError if the fetch fails; the refs from before stay.
   */
  async update(): Promise<boolean> {
    const { depth, refspecs, url } = this.config;
    const shallow = depth > 0 ? ['--depth', String(depth)] : [];
    const fetched = await withLock(join(this.dir, 'update.lk'), () =>
      runGit(
        ['fetch', '--quiet', '--prune', '--no-tags', '--force', ...shallow, '--', url, ...refspecs],
        { ...this.call, timeoutMs: FETCH_TIMEOUT_MS },
      ),
    );
    await this.#readRefs();
    return fetched !== undefined;
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

  async #readRefs(): Promise<void> {
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
  }
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
