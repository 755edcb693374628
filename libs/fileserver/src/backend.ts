/** A file that a backend found. */
export interface FoundFile {
  /** Where it can be read, an absolute path on this host. */
  readonly path: string;
  /** The path that was asked for, normal. */
  readonly rel: string;
  /**
   * Python's `os.stat` as a list: mode, ino, dev, nlink, uid, gid, size, atime, mtime, ctime; git
   * knows the mode only. Absent where it could not be read.
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

/** One source of files (Salt's `fileserver_backend`). */
export interface FileBackend {
  /** The name it has in `fileserver_backend`. */
  readonly name: string;
  /** Names of its environments, sorted. */
  envs(): Promise<readonly string[]>;
  /** Finds a file; the path is relative and without `../`, but otherwise as it was received. */
  find(
    path: string,
    saltenv: string,
    query: ReadonlyMap<string, string>,
  ): Promise<FoundFile | undefined>;
  /** Whether a file of another environment may answer a request for this environment. */
  mayServe(file: FoundFile, saltenv: string): Promise<boolean>;
  lists(saltenv: string): Promise<FileLists>;
  /** Forgets its lists, of all environments or of these; gives those that it had. */
  forgetLists?(saltenvs: readonly string[] | undefined): readonly string[];
  /** Of a backend that keeps copies of remotes. */
  readonly copies?: RemoteCopies;
  /** Ends what it started. */
  close(): Promise<void>;
}

/** What was done to remotes, and what was not, in Salt's words. */
export interface Done {
  readonly done: readonly string[];
  readonly errors: readonly string[];
}

/** The copies of remotes that a backend keeps on disk. Workers of a host share them. */
export interface RemoteCopies {
  /** Fetches all remotes, or those of these names, at once. A failure goes to the log. */
  update(remotes?: readonly string[]): Promise<void>;
  /** Empties the copies and fetches them again; gives what went wrong. */
  clear(): Promise<readonly string[]>;
  /** Holds back updates until the lock is cleared; `remote` is a glob of URLs. */
  lock(remote?: string): Promise<Done>;
  /** Removes locks of any kind. */
  clearLock(remote?: string): Promise<Done>;
}
