import type { SaltMap, SaltValue } from '@brine/wire';

/** What was done, and what was not, in Salt's words. */
export interface AdminDone {
  readonly done: readonly string[];
  readonly errors: readonly string[];
}

/**
 * The file servers of all processes. Names of backends as in `fileserver_backend`, each with a dash
 * before it for all others.
 */
export interface FileServerAdmin {
  /** Fetches remotes now. Resolves when this host has them; the others fetch too. */
  update(back?: readonly string[], remotes?: readonly string[]): Promise<void>;
  /** Empties the copies of remotes on this host and fetches them again; the others do so too. */
  clearCopies(back?: readonly string[]): Promise<AdminDone>;
  /** Locks the updates of remotes on this host, or clears such locks; `remote` is a glob. */
  changeLocks(to: 'lock' | 'clear', back?: readonly string[], remote?: string): Promise<AdminDone>;
  /** Forgets lists of files in all processes; gives those that this process had, by backend. */
  forgetLists(
    saltenvs?: readonly string[],
    back?: readonly string[],
  ): ReadonlyMap<string, readonly string[]>;
  /**
   * Fetches the remotes of git pillars on this host, or those of a branch or a URL: true where
   * something came, null where not, false where it failed; by the text of the remote.
   */
  updateGitPillars(branch: string | null, repo: string | null): Promise<SaltMap>;
}

/** What is in a directory: names, with a map for a directory and `f` for anything else. */
export type HostTree = Map<string, HostTree | 'f'>;

/** Files of the host that the process runs on. */
export interface HostFiles {
  /** The directories of an option by environment, globs expanded. */
  roots(option: 'file_roots' | 'pillar_roots'): Promise<ReadonlyMap<string, readonly string[]>>;
  /**
   * A file below a directory, whole or its first bytes; undefined where there is none, or it lies
   * elsewhere. @throws Error where it is larger than `maxBytes` and no head is asked for
   */
  readBelow(
    root: string,
    path: string,
    limits: { readonly maxBytes: number; readonly headBytes?: number },
  ): Promise<Uint8Array | undefined>;
  /** Everything below a directory. @throws Error for more than `maxEntries` */
  treeBelow(root: string, maxEntries: number): Promise<HostTree>;
  /** Writes a file below a directory; refuses `..` and links. */
  writeBelow(
    root: string,
    path: string,
    content: Uint8Array | string,
    modes?: { readonly dir: number; readonly file: number },
  ): Promise<'written' | 'same' | 'refused'>;
  removeBelow(root: string, path: string): Promise<boolean>;
  /** Removes directories that hold nothing, the directory itself too. */
  removeEmptyBelow(root: string): Promise<boolean>;
  /** A file that the operator's configuration or call names. @throws Error where it is larger */
  readBounded(path: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** Writes such a file; its directory must be there. */
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
  /** A file with the certificates that are trusted; absent: those of Node. */
  readonly caBundle?: string;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  /** Most bytes of the answer. */
  readonly maxBytes: number;
}

/** What a web server answered. */
export interface WebAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

/** What a master sends to others on its own. */
export interface Outgoing {
  /** @throws Error with a text for the caller: no connection, too late, too large */
  web(request: WebRequest): Promise<WebAnswer>;
  /** Sends the packet that wakes a machine. @throws Error where it could not be sent */
  wake(mac: Uint8Array, address: string, port: number): Promise<void>;
}

/** What the states of the master's own minion are made of. */
export interface OwnStates {
  /**
   * Renders an SLS file of the file server (`sls`, `path`), or calls a function that templates have
   * (`fun`, `args`, `kwargs`). `id`, `grains`, `pillar`, `saltenv` and `pillarenv` are those of the
   * minion. Gives `value`, or `error` in Salt's words with its `kind`.
   * @param runner answers `salt['saltutil.runner']`
   */
  ask(
    asked: SaltMap,
    runner: (fun: string, args: readonly SaltValue[], kwargs: SaltMap) => Promise<SaltValue>,
  ): Promise<SaltMap>;
  /** Grains of the host that the process runs on, with this id. */
  grains(id: string): Promise<SaltMap>;
  /** A line for the log. */
  log(level: 'error' | 'warning' | 'info', text: string): void;
}

/** What functions reach outside of the cluster. */
export interface HostPorts {
  readonly fileServer: FileServerAdmin;
  readonly hostFiles: HostFiles;
  readonly outgoing: Outgoing;
  readonly ownStates: OwnStates;
}
