import type { ProvenAddress } from './address.ts';
import type { Publisher } from './publishers.ts';

/** One minion: 1.9 KB with its place. Times are monotonic ms, except for those of unix. */
export interface Minion {
  readonly id: string;
  /** Where its record is saved. */
  readonly shard: number;
  /** Where it proved itself lately, the latest first; at most two. */
  addresses: readonly ProvenAddress[];
  /** The places of these addresses. */
  places: readonly Place[];
  state: MinionState;
  /** Whether it is present by the events that were fired. */
  reported: boolean;
  /** Since when it is or is not present, unix ms; 0: not known. */
  sinceMs: number;
  /** When it was lost last, unix ms; 0: never, as far as is known. */
  goneMs: number;
  /** When it proved itself last. */
  provenMs: number;
  /** Its addresses once had a connection. */
  wasConnected: boolean;
  /** Open while it is asked. */
  inquiry: Inquiry | undefined;
  /** It did not answer while it was unplaced, and does not become so again before. */
  pausedUntilMs: number;
  /** Since when it neither answers nor makes requests; undefined: it does. */
  silentMs: number | undefined;
}

/**
 * Whether a minion is connected, with what belongs to each state. How the states follow each other
 * is in the table of states.ts. Times are monotonic ms.
 */
export type MinionState =
  /** Not present. */
  | { readonly is: 'away'; readonly present: false }
  | Unplaced
  /** Its addresses have a connection. */
  | { readonly is: 'connected'; readonly present: true }
  | Ended
  | Elsewhere;

/** Not present. It makes requests, so it may have a connection at an address not its own. */
export interface Unplaced {
  readonly is: 'unplaced';
  readonly present: false;
  readonly sinceMs: number;
  inquiry: Inquiry | undefined;
}

/** Present until its grace is over: the last connection at its addresses has ended. */
export interface Ended {
  readonly is: 'ended';
  readonly present: true;
  readonly sinceMs: number;
  /** It is not lost before. */
  dueMs: number;
  /** The host of the publisher that ended. */
  readonly host: string | undefined;
  inquiry: Inquiry | undefined;
}

/** Present: it answers questions, though its addresses have no connection. */
export interface Elsewhere {
  readonly is: 'elsewhere';
  readonly present: true;
  /** It is not asked again before. */
  readonly untilMs: number;
  inquiry: Inquiry | undefined;
}

/** A minion is asked whether it is there. Times are monotonic ms. */
export interface Inquiry {
  readonly minion: Minion;
  state: 'open' | 'answered' | 'unanswered';
  tries: number;
  /** When it was asked first and last; undefined before. */
  firstMs: number | undefined;
  lastMs: number | undefined;
  /** When it was given up. */
  endMs: number;
  /** How often it was asked once more since it did not answer. */
  readonly extraTries: number;
}

/** Where connections come from, and the minions that proved themselves there. */
export interface Place {
  readonly key: string;
  counts: readonly Count[];
  /** All connections there, and when the last one came, monotonic ms. */
  total: number;
  openedMs: number;
  readonly minions: Set<Minion>;
  /** How many of its minions are present. */
  present: number;
  /**
   * Connections that may be missing without alarm, because every minion of the place has answered.
   */
  excused: number;
  shortage: Shortage | undefined;
  /** Rounds of questions in a row without a result; none begins before, monotonic ms. */
  idleRounds: number;
  pausedUntilMs: number;
  /** Since when it has new connections, which may be of minions that were lost. */
  comebackMs: number | undefined;
}

/** The connections of one publisher at a place. */
export interface Count {
  readonly by: Publisher;
  /** The publisher has ended; the next one of its host takes its place. */
  hasEnded: boolean;
  count: number;
  /** How many there were when all minions of the place were accounted for. */
  settled: number;
}

/** A place has fewer connections than minions that are present. */
export interface Shortage {
  /** No minion is asked before, monotonic ms. */
  dueMs: number;
  /** The host of the publisher that ended. */
  host: string | undefined;
  round: Round | undefined;
}

/** A round of questions at a place. */
export interface Round {
  /** A connection ended since it began. */
  isDisturbed: boolean;
  /** How many connections were missing when it began, for no known reason. */
  readonly unexplained: number;
  /** The fewest since then, of minions that can not have theirs at another address. */
  missing: number;
  /** The connections when it began. */
  readonly counts: readonly (readonly [Publisher, number])[];
  readonly asked: readonly Inquiry[];
  /** Those that did not answer and are asked once more, and how often that was done. */
  again: readonly Inquiry[];
  extraTries: number;
}
