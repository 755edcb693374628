import type { SaltMap } from '@brine/wire';

/** What came of a change to the list of the reactor, in Salt's words. */
export type ReactorChange = SaltMap;

/** A reaction that failed, as it is on record. */
export interface ReactionFailure {
  /** Of the reaction: the stream and the place of its event. */
  readonly id: string;
  readonly tag: string;
  /** `missing`, `render`, `compile`, `refused`, `call` or `poison`. */
  readonly kind: string;
  /** The file, or the id of the declaration in it; empty where all of it failed. */
  readonly what: string;
  readonly why: string;
  /** Unix ms. */
  readonly atMs: number;
}

/** The reactor of the whole cluster. Methods reject with a text where its bucket is away. */
export interface ReactorAdmin {
  /** Whether the configuration asks for a reactor. */
  readonly isRunning: boolean;
  /** The list as it is in force: maps of one tag each. */
  list(): Promise<readonly SaltMap[]>;
  /** Adds an entry that outlives restarts. Gives `{status, comment}`. */
  add(event: string, reactors: readonly string[]): Promise<ReactorChange>;
  /** Takes an entry out, also one of the configuration. Gives `{status, comment}`. */
  remove(event: string): Promise<ReactorChange>;
  /** Whether events are reacted to. */
  isLeader(): Promise<boolean>;
  setLeader(value: boolean): Promise<void>;
  /** The failures that are kept, the newest first, and how many were counted. */
  failures(): Promise<{ readonly list: readonly ReactionFailure[]; readonly count: number }>;
  /** Reactions that wait or are at work. */
  waiting(): Promise<number>;
}
