import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockUntilRemoved, removeIfThere } from '@brine/files';
import { fileAt, type Tree } from '@brine/git';
import { compileGlob } from '@brine/target';
import { errorText } from '@brine/tasks';
import type { Done, FileBackend, FileLists, FoundFile, RemoteCopies } from './backend.ts';
import { NO_FILES } from './backend.ts';
import { BlobFiles } from './git/blob-files.ts';
import { environmentsOf, isHex, placeOf } from './git/environments.ts';
import { GitRemote } from './git/git-remote.ts';
import type { RemoteConfig } from './git/remote-config.ts';
import { mergeLists } from './merge-lists.ts';
import { byCodePoint, normalPath } from './paths.ts';

/** The remotes of the git backend, and its cache. */
export interface GitfsOptions {
  readonly remotes: readonly RemoteConfig[];
  /** A directory of the cache; workers of one host share it. */
  readonly cacheDir: string;
  /** Called when a fetch of a remote fails, and when it succeeds again. */
  readonly report: (remote: string, problem: string | undefined) => void;
  /** Called after a fetch of this worker that changed a ref. */
  readonly onChange?: () => void;
  /** Called after each fetch of this worker. */
  readonly onFetched?: () => void;
}

/** How long a question waits for the first fetch of a new master. */
const FIRST_WAIT_MS = 20_000;
const CLEAN_EVERY_MS = 60 * 60_000;
/** The files with the id of a host, as in salt/utils/platform.py. */
const MACHINE_IDS = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/** Salt's `gitfs` backend: branches and tags of git repositories as environments. */
export class GitfsBackend implements FileBackend {
  readonly name = 'gitfs';
  readonly #remotes: readonly GitRemote[];
  readonly #blobs: BlobFiles;
  readonly #report: GitfsOptions['report'];
  readonly #onChange: () => void;
  readonly #onFetched: () => void;
  readonly #stop = new AbortController();
  readonly #failing = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #started: Promise<unknown>;

  /** Starts the first fetch. */
  constructor({ remotes, cacheDir, report, onChange, onFetched }: GitfsOptions) {
    const { signal } = this.#stop;
    this.#remotes = remotes.map((config) => new GitRemote(config, cacheDir, signal));
    this.#blobs = new BlobFiles(join(cacheDir, 'blobs'));
    this.#report = report;
    this.#onChange = onChange ?? (() => undefined);
    this.#onFetched = onFetched ?? (() => undefined);
    this.#started = Promise.all(this.#remotes.map((remote) => this.#follow(remote)));
    this.#every(CLEAN_EVERY_MS, () => this.#blobs.clean());
  }

  async envs(): Promise<readonly string[]> {
    await this.#firstFetch();
    await Promise.all(this.#remotes.map((remote) => this.#refresh(remote)));
    const names = this.#remotes.flatMap(({ config, copy }) => environmentsOf(config, copy.refs));
    return [...new Set(names)].sort();
  }

  async find(asked: string, saltenv: string): Promise<FoundFile | undefined> {
    const path = normalPath(asked);
    if (path.startsWith('/') || path.startsWith('..') || path.includes('\0')) return undefined;
    for await (const { remote, tree } of this.#trees(saltenv)) {
      const mountpoint = placeOf(remote.config, saltenv, 'mountpoint');
      if (mountpoint !== '' && !path.startsWith(`${mountpoint}/`)) continue;
      const below = mountpoint === '' ? path : path.slice(mountpoint.length + 1);
      const blob = fileAt(tree, posix.join(placeOf(remote.config, saltenv, 'root'), below));
      if (blob === undefined) continue;
      const stored = await this.#blobs.pathOf(blob.sha, remote.copy.call);
      return { path: stored, rel: path, stat: [blob.mode] };
    }
    return undefined;
  }

  mayServe(): Promise<boolean> {
    return Promise.resolve(true);
  }

  async lists(saltenv: string): Promise<FileLists> {
    const parts: FileLists[] = [];
    for await (const { remote, tree } of this.#trees(saltenv)) {
      const root = placeOf(remote.config, saltenv, 'root');
      parts.push(listsOf(tree, root, placeOf(remote.config, saltenv, 'mountpoint')));
    }
    return mergeLists(parts);
  }

  /** The remotes' copies below the cache. */
  get copies(): RemoteCopies {
    const of = (glob: string | undefined): readonly GitRemote[] => {
      const matches = glob === undefined ? (): boolean => true : compileGlob(glob);
      return this.#remotes.filter(({ config }) => matches(config.url));
    };
    return {
      update: async (names) => {
        const chosen = this.#remotes.filter(({ config }) => isNamed(config, names));
        await Promise.all(chosen.map((remote) => this.#fetch(remote, () => remote.copy.renew())));
      },
      clear: () => this.#clear(),
      lock: (glob) => changeLocks(of(glob), lockUntilRemoved, 'Set update lock for'),
      clearLock: (glob) => changeLocks(of(glob), removeIfThere, 'Removed update lock for'),
    };
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#stop.abort();
    await this.#started;
  }

  /** The remotes that have an environment, in their order. */
  async *#trees(saltenv: string): AsyncGenerator<{ remote: GitRemote; tree: Tree }> {
    const known = await this.envs();
    for (const remote of this.#remotes) {
      const { fallback } = remote.config;
      if (!known.includes(saltenv) && !isHex(saltenv) && fallback === '') continue;
      const tree = await remote.treeOf(saltenv);
      if (tree !== undefined) yield { remote, tree };
    }
  }

  async #firstFetch(): Promise<void> {
    const waited = sleep(FIRST_WAIT_MS, undefined, { ref: false });
    await Promise.race([this.#started, waited]);
  }

  async #refresh({ config, copy }: GitRemote): Promise<void> {
    await this.#guarded(config.url, () => copy.refresh());
  }

  async #clear(): Promise<readonly string[]> {
    const errors = await Promise.all(
      this.#remotes.map(async (remote) => {
        const { copy } = remote;
        const { dir } = copy.call;
        try {
          if (!(await copy.clear())) return `Unable to delete ${dir}: it is being updated`;
        } catch (error) {
          return `Unable to delete ${dir}: ${errorText(error)}`;
        }
        await this.#fetch(remote, () => remote.copy.renew());
        return undefined;
      }),
    );
    return errors.filter((error) => error !== undefined);
  }

  async #follow(remote: GitRemote): Promise<void> {
    const { config, copy } = remote;
    await this.#refresh(remote);
    const isNew = copy.refs.branches.size === 0;
    // While the first fetch runs, files of an earlier start are served. Without any, the request
    // waits for the end of another worker's first fetch.
    const first = this.#fetch(remote, () => (isNew ? copy.renew() : copy.update()));
    if (isNew) await first;
    const everyMs = config.updateInterval * 1000;
    const updateWhereDue = (): Promise<void> =>
      this.#fetch(remote, () => copy.updateWhereDue(everyMs));
    if (everyMs > 0) void first.then(() => this.#every(everyMs, updateWhereDue));
  }

  /** The task returns as {@link GitCopy.update}: whether this worker fetched, and any news. */
  #fetch({ config: { url } }: GitRemote, task: () => Promise<boolean | undefined>): Promise<void> {
    return this.#guarded(url, async () => {
      const changed = await task();
      if (changed === undefined) return;
      if (changed) this.#onChange();
      this.#onFetched();
      if (this.#failing.delete(url)) this.#report(url, undefined);
    });
  }

  /** Reports the first failure of a remote until a fetch of it succeeds. */
  async #guarded(url: string, task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (this.#stop.signal.aborted || this.#failing.has(url)) return;
      this.#failing.add(url);
      this.#report(url, errorText(error));
    }
  }

  /** Runs a task again and again, with a pause after each end. */
  #every(ms: number, task: () => Promise<void>): void {
    if (this.#stop.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void task().finally(() => this.#every(ms, task));
    }, ms);
    timer.unref();
    this.#timers.add(timer);
  }
}

/** Salt: salt/utils/gitfs.py fetch_remotes; the id of a remote is its URL as configured. */
function isNamed({ url, name }: RemoteConfig, names: readonly string[] | undefined): boolean {
  if (names === undefined || names.length === 0) return true;
  return names.includes(url) || (name !== undefined && names.includes(name));
}

/** Sets or removes locks, with Salt's texts (salt/utils/gitfs.py `_lock`, `clear_lock`). */
async function changeLocks(
  remotes: readonly GitRemote[],
  change: (path: string) => Promise<boolean>,
  verb: string,
): Promise<Done> {
  const done: string[] = [];
  const errors: string[] = [];
  const machine = await machineId();
  for (const { config, copy } of remotes) {
    const { lockPath } = copy;
    try {
      if (!(await change(lockPath))) continue;
      done.push(`${verb} gitfs remote '${config.url}' on machine_id '${machine}'`);
    } catch (error) {
      const lock = `the update lock of ${config.url} (${lockPath})`;
      errors.push(`Unable to change ${lock}: ${errorText(error)}`);
    }
  }
  return { done, errors };
}

async function machineId(): Promise<string> {
  for (const path of MACHINE_IDS) {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) return text.trim();
  }
  return 'no_machine_id_available';
}

function listsOf(tree: Tree, root: string, mountpoint: string): FileLists {
  const prefix = root === '' ? '' : `${root}/`;
  const shown = (path: string): string | undefined =>
    path.startsWith(prefix) ? posix.join(mountpoint, path.slice(prefix.length)) : undefined;
  const paths = (from: Iterable<string>): string[] =>
    [...from].flatMap((path) => shown(path) ?? []).sort(byCodePoint);
  const links = [...tree.links].flatMap(([path, target]): [string, string][] => {
    const at = shown(path);
    return at === undefined ? [] : [[at, target]];
  });
  const dirs = paths(tree.dirs);
  if (mountpoint !== '') dirs.push(mountpoint);
  return {
    ...NO_FILES,
    files: paths(tree.blobs.keys()),
    dirs: dirs.sort(byCodePoint),
    links: new Map(links),
  };
}
