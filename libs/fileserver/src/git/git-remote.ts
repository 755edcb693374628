import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { GitCopy, readTree, type Tree } from '@brine/git';
import { LRUCache } from 'lru-cache';
import { commitOf, isExposed, refOf } from './environments.ts';
import type { RemoteConfig } from './remote-config.ts';

/** Longest time a fetch takes; a first one brings the whole history. */
const FETCH_TIMEOUT_MS = 10 * 60_000;
/** Commits whose paths are kept in memory. */
const TREES_MAX = 32;

/** A remote repository, kept as a bare copy below the cache. */
export class GitRemote {
  readonly config: RemoteConfig;
  /** The same URL with other settings has another copy. */
  readonly copy: GitCopy;
  readonly #trees = new LRUCache<string, Promise<Tree>>({ max: TREES_MAX });

  constructor(config: RemoteConfig, cacheDir: string, signal: AbortSignal) {
    this.config = config;
    const { url, refspecs, depth, password } = config;
    const source = {
      url,
      refspecs,
      branches: 'refs/remotes',
      depth,
      fetchMs: FETCH_TIMEOUT_MS,
      access: password === '' ? { ...config, user: '' } : config,
    } as const;
    this.copy = new GitCopy(join(cacheDir, 'remotes', cacheKey(config)), source, signal);
  }

  /** The files of an environment; undefined if this remote does not have it. */
  async treeOf(env: string): Promise<Tree | undefined> {
    if (!isExposed(this.config, env)) return undefined;
    const { refTypes, fallback } = this.config;
    const { refs } = this.copy;
    const ref = refOf(this.config, env);
    if (ref === undefined) return undefined;
    const commit =
      commitOf(refTypes, refs, ref) ??
      (fallback === '' ? undefined : commitOf(refTypes, refs, fallback));
    return commit === undefined ? undefined : this.#tree(commit);
  }

  async #tree(commit: string): Promise<Tree | undefined> {
    let tree = this.#trees.get(commit);
    if (tree === undefined) {
      tree = readTree(commit, this.copy.call);
      this.#trees.set(commit, tree);
    }
    try {
      return await tree;
    } catch {
      // An unknown id of a commit: a later fetch may bring it.
      this.#trees.delete(commit);
      return undefined;
    }
  }
}

/**
 * The name of a remote's cache. Two remotes share one only if they fetch the same with the same
 * settings: files that one key may read must not be served for another.
 */
function cacheKey(config: RemoteConfig): string {
  const { url, name, refspecs, depth, user, password, privkey, proxy, sslVerify } = config;
  const fetched = [url, name, refspecs, depth, user, password, privkey, proxy, sslVerify];
  return createHash('sha256').update(JSON.stringify(fetched)).digest('hex').slice(0, 32);
}
