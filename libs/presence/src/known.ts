import type { Publisher } from './publishers.ts';

/** An address at which a minion has proven itself. */
export interface ProvenAddress {
  readonly address: string;
  /** Monotonic ms. */
  atMs: number;
}

/** What is known of one minion: 1.9 KB with its place. */
export interface Minion {
  readonly id: string;
  /** Where its record is saved. */
  readonly shard: number;
  /** Where it proved itself lately, the latest first; at most two. */
  addresses: readonly ProvenAddress[];
  /** The places of these addresses. */
  places: readonly Place[];
  present: boolean;
  /** As the last change that was told had it. */
  told: boolean;
  /** Since when it is or is not present, unix ms; 0: not known. */
  sinceMs: number;
  /** When it was lost last, unix ms; 0: never, as far as is known. */
  goneMs: number;
  /** When it was heard last, monotonic ms. */
  heardMs: number;
  /** It once had a connection at an address of its own. */
  placed: boolean;
  /** Present, and no connection at its addresses. */
  loose: Loose | undefined;
  /** It answers, and has no connection at its addresses: until then it is not asked again. */
  floats: { untilMs: number; inquiry: Inquiry | undefined } | undefined;
  inquiry: Inquiry | undefined;
  /** It did not answer when it had no connection: until then it is not asked for that. */
  mutedUntilMs: number;
  /** Since when it answers no question and is not heard, monotonic ms; undefined: it is heard. */
  silentMs: number | undefined;
}

/** The end of the last connection at a minion's addresses. Monotonic ms. */
export interface Loose {
  readonly sinceMs: number;
  /** Not told lost before. */
  dueMs: number;
  /** The host of the publisher that ended. */
  readonly host: string | undefined;
  inquiry: Inquiry | undefined;
}

/** A minion that is asked whether it is there. */
export interface Inquiry {
  readonly minion: Minion;
  state: 'open' | 'answered' | 'unanswered';
  tries: number;
  /** When it was asked first and last, monotonic ms; undefined before. */
  firstMs: number | undefined;
  lastMs: number | undefined;
  /** When it was given up, monotonic ms. */
  endMs: number;
  /** How often it was asked once more since it did not answer. */
  readonly extraTries: number;
}

/** The connections of one publisher at a place. */
export interface At {
  readonly by: Publisher;
  /** The publisher has ended; the next one of its host takes its place. */
  hasEnded: boolean;
  count: number;
  /** How many there were when all minions of the place were accounted for. */
  settled: number;
}

/** Fewer connections than minions that are said to be present. Monotonic ms. */
export interface Shortage {
  /** None is asked before. */
  dueMs: number;
  /** The host of the publisher that ended. */
  host: string | undefined;
  round: Round | undefined;
}

/** A round of questions at a place. */
export interface Round {
  /** A connection ended since it began. */
  isDisturbed: boolean;
  /** How many connections fewer than minions there were when it began, for no known reason. */
  readonly unexplained: number;
  /** The fewest since then, of minions that can not have theirs at another address. */
  missing: number;
  /** The connections then. */
  readonly counts: readonly (readonly [Publisher, number])[];
  readonly asked: readonly Inquiry[];
  /** Those that did not answer and are asked once more, and how often that was done. */
  again: readonly Inquiry[];
  extraTries: number;
}

/** Where connections come from, and the minions that proved themselves there. */
export interface Place {
  readonly key: string;
  at: readonly At[];
  /** All connections there, and when one came last, monotonic ms. */
  total: number;
  openedMs: number;
  readonly minions: Set<Minion>;
  /** Minions of the place that are present. */
  present: number;
  /** So many may be missing: all minions of the place answered. */
  excused: number;
  shortage: Shortage | undefined;
  /** Rounds of questions in a row that told nothing, and until when there is no other. */
  idleRounds: number;
  pausedUntilMs: number;
  /** Since when there are connections that may be of minions that are not present. */
  risenMs: number | undefined;
}
