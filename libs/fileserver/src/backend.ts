/** A file that a backend found. */
export interface FoundFile {
  /** Its absolute path on this host. */
  readonly path: string;
  /** The requested path, normalised. */
  readonly rel: string;
  /**
   * Python's `os.stat` as a list: mode, ino, dev, nlink, uid, gid, size, atime, mtime, ctime; git
   * knows the mode only. Absent if unreadable.
   */
  readonly stat?: readonly number[];
}

/** The paths of one environment: relative, sorted by code points. */
export interface FileLists {
  readonly files: readonly string[];
  readonly dirs: readonly string[];
  readonly emptyDirs: readonly string[];
  /** Targets of symbolic links by the path of the link. */
  readonly links: ReadonlyMap<string, string>;
}

/** The answer for an unknown environment. */
export const NO_FILES: FileLists = { files: [], dirs: [], emptyDirs: [], links: new Map() };

/** A source of files (Salt's `fileserver_backend`). */
export interface FileBackend {
  /** The name of the backend in `fileserver_backend`. */
  readonly name: string;
  /** Names of its environments, sorted. */
  envs(): Promise<readonly string[]>;
  /** Finds a file. The path is relative and without `../`, but otherwise as received. */
  find(
    path: string,
    saltenv: string,
    query: ReadonlyMap<string, string>,
  ): Promise<FoundFile | undefined>;
  /** True if a file of another environment may answer a request for this environment. */
  mayServe(file: FoundFile, saltenv: string): Promise<boolean>;
  lists(saltenv: string): Promise<FileLists>;
  /** Forgets its lists, of all or these environments; returns the environments that had one. */
  forgetLists?(saltenvs: readonly string[] | undefined): readonly string[];
  /** The copies, if the backend keeps copies of remotes. */
  readonly copies?: RemoteCopies;
  /** Closes timers and processes of the backend. */
  close(): Promise<void>;
}

/** The results of a call on remotes, with Salt's texts. */
export interface Done {
  readonly done: readonly string[];
  readonly errors: readonly string[];
}

/** The copies of remotes that a backend keeps on disk. Workers of a host share them. */
export interface RemoteCopies {
  /** Fetches all remotes, or those of these names, at once. Failures are logged. */
  update(remotes?: readonly string[]): Promise<void>;
  /** Empties the copies and fetches them again; resolves with the errors. */
  clear(): Promise<readonly string[]>;
  /** Stops updates until the lock is cleared; `remote` is a glob of URLs. */
  lock(remote?: string): Promise<Done>;
  /** Removes locks of any kind. */
  clearLock(remote?: string): Promise<Done>;
}
