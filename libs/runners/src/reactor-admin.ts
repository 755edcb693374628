import type { SaltMap } from '@brine/wire';

/** The result of a change to the list of the reactor, with Salt's text. */
export type ReactorChange = SaltMap;

/** A recorded failure of a reaction. */
export interface ReactionFailure {
  /** Id of the reaction: the stream and the position of its event. */
  readonly id: string;
  readonly tag: string;
  /** `missing`, `render`, `compile`, `refused`, `call` or `poison`. */
  readonly kind: string;
  /** The file, or the id of the declaration in it; empty if the whole reaction failed. */
  readonly what: string;
  readonly why: string;
  /** Unix ms. */
  readonly atMs: number;
}

/** The reactor of the whole cluster. Methods reject with a text while its bucket is unreachable. */
export interface ReactorAdmin {
  /** True if a reactor is configured. */
  readonly isRunning: boolean;
  /** The current list: maps of one tag each. */
  list(): Promise<readonly SaltMap[]>;
  /** Adds an entry that outlives restarts. Returns `{status, comment}`. */
  add(event: string, reactors: readonly string[]): Promise<ReactorChange>;
  /** Removes an entry, also a configured one. Returns `{status, comment}`. */
  remove(event: string): Promise<ReactorChange>;
  /** True if events are reacted to. */
  isLeader(): Promise<boolean>;
  setLeader(value: boolean): Promise<void>;
  /** The stored failures, the newest first, and the number of all failures. */
  failures(): Promise<{ readonly list: readonly ReactionFailure[]; readonly count: number }>;
  /** Number of reactions that wait or are at work. */
  waiting(): Promise<number>;
}
