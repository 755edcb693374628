import type { SaltMap, SaltValue } from '@brine/wire';

/** Successes and failures, with Salt's texts. */
export interface AdminDone {
  readonly done: readonly string[];
  readonly errors: readonly string[];
}

/**
 * The file servers of all processes. Names of backends are those of `fileserver_backend`; a dash
 * before each means all others.
 */
export interface FileServerAdmin {
  /** Fetches remotes now. Resolves when this host has them; other hosts fetch too. */
  update(back?: readonly string[], remotes?: readonly string[]): Promise<void>;
  /** Deletes the copies of remotes on this host and fetches them again; other hosts do so too. */
  clearCopies(back?: readonly string[]): Promise<AdminDone>;
  /** Locks the updates of remotes on this host, or clears such locks; `remote` is a glob. */
  changeLocks(to: 'lock' | 'clear', back?: readonly string[], remote?: string): Promise<AdminDone>;
  /** Forgets lists of files in all processes; returns those of this process, by backend. */
  forgetLists(
    saltenvs?: readonly string[],
    back?: readonly string[],
  ): ReadonlyMap<string, readonly string[]>;
  /**
   * Fetches the remotes of git pillars on this host, or those of a branch or a URL. By the text of
   * the remote: true after changes, null without changes, false after a failure.
   */
  updateGitPillars(branch: string | null, repo: string | null): Promise<SaltMap>;
}

/** The contents of a directory by name: a map for a directory, `f` for anything else. */
export type HostTree = Map<string, HostTree | 'f'>;

/** Files of the host that the process runs on. */
export interface HostFiles {
  /** The directories of an option by environment, globs expanded. */
  roots(option: 'file_roots' | 'pillar_roots'): Promise<ReadonlyMap<string, readonly string[]>>;
  /**
   * A file below a directory, whole or its first bytes; undefined if it is missing or outside.
   * @throws Error if it is larger than `maxBytes` and no head is requested
   */
  readBelow(
    root: string,
    path: string,
    limits: { readonly maxBytes: number; readonly headBytes?: number },
  ): Promise<Uint8Array | undefined>;
  /** The tree below a directory. @throws Error for more than `maxEntries` */
  treeBelow(root: string, maxEntries: number): Promise<HostTree>;
  /** Writes a file below a directory; refuses `..` and links. */
  writeBelow(
    root: string,
    path: string,
    content: Uint8Array | string,
    modes?: { readonly dir: number; readonly file: number },
  ): Promise<'written' | 'same' | 'refused'>;
  removeBelow(root: string, path: string): Promise<boolean>;
  /** Removes empty directories, including the directory itself. */
  removeEmptyBelow(root: string): Promise<boolean>;
  /** A file named by the operator's configuration or call. @throws Error if it is larger */
  readBounded(path: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** Writes such a file; its directory must exist. */
  writeWhole(path: string, content: string, mode: number): Promise<void>;
  /** A variable of the process's environment. */
  environment(name: string): string | undefined;
}

/** A request to a web server. */
export interface WebRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body?: string;
  /** False: the certificate of the server is not checked. */
  readonly verify: boolean;
  /** A file with the trusted certificates; absent: those of Node. */
  readonly caBundle?: string;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  /** Size limit of the answer. */
  readonly maxBytes: number;
}

/** The answer of a web server. */
export interface WebAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

/** Outgoing messages of a master. */
export interface Outgoing {
  /** @throws Error with a text for the caller: no connection, timeout, too large */
  web(request: WebRequest): Promise<WebAnswer>;
  /** Sends the packet that wakes a machine. @throws Error if it could not be sent */
  wake(mac: Uint8Array, address: string, port: number): Promise<void>;
}

/** Rendering and functions for the states of the master's own minion. */
export interface OwnStates {
  /**
   * Renders an SLS file of the file server (`sls`, `path`), or calls a function of templates
   * (`fun`, `args`, `kwargs`). `id`, `grains`, `pillar`, `saltenv` and `pillarenv` are those of the
   * minion. Returns `value`, or `error` with Salt's text and its `kind`.
   * @param runner answers `salt['saltutil.runner']`
   */
  ask(
    asked: SaltMap,
    runner: (fun: string, args: readonly SaltValue[], kwargs: SaltMap) => Promise<SaltValue>,
  ): Promise<SaltMap>;
  /** Grains of this process's host, with this id. */
  grains(id: string): Promise<SaltMap>;
  /** A line for the log. */
  log(level: 'error' | 'warning' | 'info', text: string): void;
}

/** Access of functions to the world outside of the cluster. */
export interface HostPorts {
  readonly fileServer: FileServerAdmin;
  readonly hostFiles: HostFiles;
  readonly outgoing: Outgoing;
  readonly ownStates: OwnStates;
}
