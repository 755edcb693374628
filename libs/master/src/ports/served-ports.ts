import type { SaltMap, SaltValue } from '@brine/wire';

/** A file of the file server. */
export interface ServedFile {
  /** Path on the master. */
  readonly path: string;
  /** The requested path, normalized. */
  readonly rel: string;
  /** Name of the backend that has it. */
  readonly back: string;
  /** Python's `os.stat` as a list, or only its mode. */
  readonly stat?: readonly number[];
}

/** A piece of a file. No data: its end. No `dest` either: the file does not exist. */
export interface ServedPiece {
  readonly data: Uint8Array;
  readonly dest: string;
  /** Level at which the data were compressed; absent: not compressed. */
  readonly gzip?: number;
}

/** The contents of an environment; paths relative and sorted. */
export interface ServedLists {
  readonly files: readonly string[];
  readonly dirs: readonly string[];
  readonly emptyDirs: readonly string[];
  /** Targets of symbolic links by the path of the link. */
  readonly links: ReadonlyMap<string, string>;
}

/** The files for minions. Paths and environments are passed as received. */
export interface Files {
  /** Undefined if the file does not exist, or may not be seen. */
  find(path: string, saltenv: string): Promise<ServedFile | undefined>;
  serve(asked: {
    readonly path: string;
    readonly saltenv: string;
    readonly loc: number;
    readonly gzip?: number;
  }): Promise<ServedPiece>;
  /** Undefined as for `find`; without a hash if the file was deleted meanwhile. */
  hash(
    path: string,
    saltenv: string,
  ): Promise<
    | {
        readonly found: ServedFile;
        readonly hash: { readonly hashType: string; readonly hsum: string } | undefined;
      }
    | undefined
  >;
  /** Lists of all backends, or of the named ones (`-name`: all but that). */
  lists(saltenv: string, back?: readonly string[]): Promise<ServedLists>;
  /** Environments by backend. */
  envs(back?: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** Data that are kept of a minion. */
export interface KeptPart {
  readonly data: SaltMap;
  /** When they were stored, unix ms. */
  readonly atMs: number;
}

/** The minions' mines: one map of values by function for each, shared by all workers. */
export interface Mines {
  /** Undefined if the mine is empty. */
  fetch(id: string): Promise<SaltMap | undefined>;
  /** The same, and when it was stored. */
  kept(id: string): Promise<KeptPart | undefined>;
  /**
   * Replaces the map of a minion by the result of `next`; undefined removes it. Calls `next` again
   * with the newer map if another worker wrote meanwhile. False: it became too large.
   */
  change(id: string, next: (now: SaltMap | undefined) => SaltMap | undefined): Promise<boolean>;
}

/** The state of a request whose bytes were received before. */
export type Begun =
  /** The first copy, or another try of the gateway that had it. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'done'; readonly reply: SaltValue }
  /** Another worker is answering it. */
  | { readonly kind: 'under-way' }
  /** Never finished, and no gateway can still wait for it. */
  | { readonly kind: 'lapsed' };

/**
 * The requests of minions that wrote something, shared by all workers and stored for as long as the
 * same bytes could be repeated. Each method rejects with MasterUnavailableError while the record is
 * unreachable.
 */
export interface Once {
  /**
   * Begins a request.
   * @param by the same for all tries of one gateway: an earlier one may have died on the way
   */
  begin(key: string, by: string): Promise<Begun>;
  /** Records that it is done, and its answer. */
  done(key: string, by: string, reply: SaltValue): Promise<void>;
  /**
   * Records a request with one write instead of two. Only for requests whose effect is already
   * deduplicated by id.
   * @param by as in {@link begin}
   * @returns ms since its first copy; 0 for the first one, or another try of the same gateway
   */
  note(key: string, by: string): Promise<number>;
  /** Removes a note whose data were not written: the next copy counts as the first one again. */
  unnote(key: string, by: string): Promise<void>;
}

/** The destination of files that minions send. */
export interface ReceivedFiles {
  /** Writes a piece at its offset; false for a path that leads elsewhere or cannot be a file. */
  write(piece: {
    readonly id: string;
    readonly path: readonly string[];
    readonly loc: number;
    readonly data: Uint8Array;
  }): Promise<boolean>;
}

/** The master's external tops (`master_tops`). */
export interface ExternalTops {
  /** States by environment; empty if none is configured or it failed. */
  of(minion: string): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** Options for the data that minions are served. */
export interface ServedRules {
  /** Size limit of files that minions may send; absent: they may not. */
  readonly fileRecv?: { readonly maxMegabytes: number };
  /** Stores the mine even without `minion_data_cache`. */
  readonly enforceMineCache?: boolean;
  /** Functions that minions may request from the mine, by expressions of ids; absent: any. */
  readonly mineGet?: Readonly<Record<string, readonly string[]>>;
  /** `peer`: rights to publish, by expressions of minion ids. */
  readonly peer?: Readonly<Record<string, readonly SaltValue[]>>;
  /** `peer_run`: runners, by expressions of minion ids. */
  readonly peerRun?: Readonly<Record<string, readonly SaltValue[]>>;
}

/** The data that a master serves to its minions. */
export interface ServedPorts {
  readonly files: Files;
  readonly mines: Mines;
  readonly once: Once;
  readonly received: ReceivedFiles;
  readonly tops: ExternalTops;
  /** Parses arguments of a command line for a publication. */
  parseArguments(args: readonly SaltValue[], noParse: readonly SaltValue[]): SaltValue[];
}
