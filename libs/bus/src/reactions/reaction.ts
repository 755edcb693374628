import type { ReactionKind } from '../subjects/names.ts';

/**
 * Work in the queue of reactions: what an event or a due time of the schedule asks of one worker of
 * the cluster.
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
