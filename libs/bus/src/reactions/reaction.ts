import { type ReactionKind, type StreamName, STREAMS, subjects } from '../subjects/names.ts';

/**
 * Work in the queue of reactions: what an event or a due time of the schedule asks of one process
 * of the cluster.
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
  /** When the event was stored, or the time that is due; unix ms. */
  readonly timeMs: number;
  /** A W3C traceparent of what caused it; becomes a link. */
  readonly link?: string | undefined;
}

/** A reaction on its way into its queue. */
export interface NewReaction extends Reaction {
  /**
   * Who chose the event: a minion, an engine. What waits of one source is bounded. Absent for what
   * the master itself says.
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
 * All places of work. Workers of a release before the last two sources had places of their own put
 * their events and due times into `REACTIONS`, and so does this one where NATS still has the rights
 * of that release.
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

/** Longest body of a reaction, in bytes: it goes in one message, whatever its size. */
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
 * @param at where the event stands in its message; 0 where that holds one
 */
export function eventReactionId(stream: string, seq: number, at: number): string {
  return `event/${stream}/${seq}.${at}`;
}

/** The id of a due time of a job of the schedule. */
export function dueReactionId(name: string, dueMs: number): string {
  return `due/${name}/${dueMs}`;
}
