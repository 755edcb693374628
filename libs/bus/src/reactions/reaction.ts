import { type ReactionKind, type StreamName, STREAMS, subjects } from '../subjects/names.ts';

/**
 * Work in the queue of reactions, for one process of the cluster. An event or a due time of the
 * schedule causes it.
 */
export interface Reaction {
  readonly kind: ReactionKind;
  /**
   * The same for all tries to add it, so that it is in the queue once: {@link eventReactionId} or
   * {@link dueReactionId}. The keys of its calls begin with it.
   */
  readonly id: string;
  /** The tag of the event, or the name of the job of the schedule. */
  readonly name: string;
  /**
   * A msgpack map: the data of the event, or what the schedule needs. At most
   * {@link REACTION_MAX_BYTES}.
   */
  readonly body: Uint8Array;
  /** When the event was stored, or the due time; unix ms. */
  readonly timeMs: number;
  /** A W3C traceparent of what caused it; becomes a link. */
  readonly link?: string | undefined;
}

/** A reaction on its way into its queue. */
export interface NewReaction extends Reaction {
  /**
   * The minion or engine that sent the event; the reactions that wait for one source are bounded.
   * Absent for the master's own events.
   */
  readonly source?: string | undefined;
}

/** Where work waits, and the durable reader that all processes share. */
export interface ReactionPlace {
  readonly kind: ReactionKind;
  readonly stream: StreamName;
  readonly subject: string;
  readonly durable: string;
}

/**
 * All places of work. Workers of releases before the last two places put their events and due times
 * into `REACTIONS`. This release does the same while NATS has the rights of such a release.
 */
export const REACTION_PLACES: readonly ReactionPlace[] = [
  {
    kind: 'event',
    stream: STREAMS.reactions,
    durable: 'event',
    subject: subjects.reaction('event'),
  },
  {
    kind: 'event',
    stream: STREAMS.reactions,
    durable: 'events-of',
    subject: `${subjects.reaction('event')}.>`,
  },
  { kind: 'due', stream: STREAMS.due, durable: 'due', subject: subjects.due },
  {
    kind: 'due',
    stream: STREAMS.reactions,
    durable: 'due',
    subject: subjects.reaction('due'),
  },
];

/** Longest body of a reaction, in bytes: a reaction is always one message. */
export const REACTION_MAX_BYTES = 2 * 1024 * 1024;

/** The headers of a message of the queue. */
export const REACTION_HEADERS = {
  id: 'Brine-Reaction',
  name: 'Brine-Tag',
  time: 'Brine-Time',
  link: 'Brine-Link',
} as const;

/**
 * The id of the reaction to an event.
 * @param at the index of the event in its message; 0 for a message of one event
 */
export function eventReactionId(stream: string, seq: number, at: number): string {
  return `event/${stream}/${seq}.${at}`;
}

/** The id of a due time of a job of the schedule. */
export function dueReactionId(name: string, dueMs: number): string {
  return `due/${name}/${dueMs}`;
}
