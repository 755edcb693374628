import type { SaltMap, SaltValue } from '@brine/wire';

/** A file that the file server has. */
export interface ServedFile {
  /** Where it is on the master. */
  readonly path: string;
  /** The path that was asked for, normal. */
  readonly rel: string;
  /** Name of the backend that has it. */
  readonly back: string;
  /** Python's `os.stat` as a list, or of it the mode alone. */
  readonly stat?: readonly number[];
}

/** A piece of a file; no data is its end, no `dest` either: there is no such file. */
export interface ServedPiece {
  readonly data: Uint8Array;
  readonly dest: string;
  /** Level at which the data was compressed, where it was. */
  readonly gzip?: number;
}

/** What there is in an environment; paths relative and sorted. */
export interface ServedLists {
  readonly files: readonly string[];
  readonly dirs: readonly string[];
  readonly emptyDirs: readonly string[];
  /** Targets of symbolic links by the path of the link. */
  readonly links: ReadonlyMap<string, string>;
}

/** The files that minions may ask for. Paths and environments come as they were received. */
export interface Files {
  /** Undefined where there is no such file, or it may not be seen. */
  find(path: string, saltenv: string): Promise<ServedFile | undefined>;
  serve(asked: {
    readonly path: string;
    readonly saltenv: string;
    readonly loc: number;
    readonly gzip?: number;
  }): Promise<ServedPiece>;
  /** Undefined as for `find`; without a hash where the file went away meanwhile. */
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
  /** Of all backends, or of those named (`-name`: of all but that). */
  lists(saltenv: string, back?: readonly string[]): Promise<ServedLists>;
  /** Environments by backend. */
  envs(back?: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
}

/**
 * What minions put into the mine: one map of values by function for each, shared by all workers.
 */
export interface Mines {
  /** Undefined where a minion put nothing there. */
  fetch(id: string): Promise<SaltMap | undefined>;
  /**
   * Replaces the map of a minion by what `next` makes of it; undefined removes it. Called again
   * with the newer map where another worker wrote meanwhile. False: it became too large.
   */
  change(id: string, next: (now: SaltMap | undefined) => SaltMap | undefined): Promise<boolean>;
}

/** The state of a request whose bytes came before. */
export type Begun =
  /** This is it, or another try of the gateway that had it. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'done'; readonly reply: SaltValue }
  /** Another worker is answering it. */
  | { readonly kind: 'under-way' }
  /** It was never finished, and no gateway can still wait for it. */
  | { readonly kind: 'lapsed' };

/**
 * The requests of minions that wrote something, shared by all workers and known for as long as the
 * same bytes could come again. Each rejects with MasterUnavailableError when it is away.
 */
export interface Once {
  /**
   * Begins with a request.
   * @param by the same for all tries of one gateway: one of them may have died on the way
   */
  begin(key: string, by: string): Promise<Begun>;
  /** Notes that it is done, and what was answered. */
  done(key: string, by: string, reply: SaltValue): Promise<void>;
  /**
   * Notes a request whose work is known by its id for a while where it is written: that needs one
   * note instead of two.
   * @param by as in {@link begin}
   * @returns ms since its first sending; 0 where this is it, or another try of the same gateway
   */
  note(key: string, by: string): Promise<number>;
  /** What was noted was not written: its next sending is the first one again. */
  unnote(key: string, by: string): Promise<void>;
}

/** Where files go that minions send. */
export interface ReceivedFiles {
  /** Writes a piece at its offset; false for a path that leads elsewhere or cannot be a file. */
  write(piece: {
    readonly id: string;
    readonly path: readonly string[];
    readonly loc: number;
    readonly data: Uint8Array;
  }): Promise<boolean>;
}

/** What the master's external tops say (`master_tops`). */
export interface ExternalTops {
  /** States by environment; none where nothing is configured or it failed. */
  of(minion: string): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** The options that rule what minions are served. */
export interface ServedRules {
  /** Minions may send files, up to this size; absent: they may not. */
  readonly fileRecv?: { readonly maxMegabytes: number };
  /** Keep the mine also where `minion_data_cache` is off. */
  readonly enforceMineCache?: boolean;
  /** Functions minions may ask of the mine, expressions by those of ids; absent: any. */
  readonly mineGet?: Readonly<Record<string, readonly string[]>>;
  /** `peer`: rights to publish, by expressions of minion ids. */
  readonly peer?: Readonly<Record<string, readonly SaltValue[]>>;
  /** `peer_run`: runners, by expressions of minion ids. */
  readonly peerRun?: Readonly<Record<string, readonly SaltValue[]>>;
}

/** What a master serves to its minions, beside taking their returns. */
export interface ServedPorts {
  readonly files: Files;
  readonly mines: Mines;
  readonly once: Once;
  readonly received: ReceivedFiles;
  readonly tops: ExternalTops;
  /** Arguments of a job as a command line has them, ready for its publication. */
  parseArguments(args: readonly SaltValue[], noParse: readonly SaltValue[]): SaltValue[];
}
