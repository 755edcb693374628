import type { LiveEvent } from '../live/live-events.ts';
import type { Sight } from '../live/sight.ts';

/** A message of a stream. */
export interface Message {
  readonly event: string;
  /** JSON, which has no line end. */
  readonly data: string;
}

/** The part of a stream that one topic makes; all of one form and sight share it. */
export interface TopicPart {
  /** Takes an event that the followers may see; false if it changes nothing for them. */
  take(event: LiveEvent): boolean;
  /**
   * The messages that are due.
   * @param nowMs monotonic
   * @param isAll those that are not due yet, too
   */
  flush(nowMs: number, isAll: boolean): readonly Message[];
  /** Messages are here that are not due yet. */
  readonly isPending: boolean;
  /** Characters that wait. */
  readonly size: number;
  /** The messages without which those that come later make no sense. */
  begun?(): readonly Message[];
  /** The last follower is gone. */
  close?(): void;
}

/** A topic as a stream asked for it. */
export interface OpenTopic {
  /** It is computed by itself, and not out of events. */
  readonly isComputed?: true;
  /** Only events of these jobs matter; undefined: any, or none at all. */
  readonly jids?: ReadonlySet<string>;
  /**
   * Begins its part for followers with one sight.
   * @param wake asks for a flush where the topic changed without an event
   */
  readonly make: (sight: Sight, wake: () => void) => TopicPart;
}

/** A topic that a stream does not get, and why, as the end of a sentence. */
export interface RefusedTopic {
  readonly topic: string;
  readonly why: string;
}

/** A kind of topics, by the name before the colon. */
export interface TopicSource {
  /** The topic; or why it can not have the argument, as the end of a sentence. */
  open(argument: string | undefined): OpenTopic | string;
}

/** The kinds of topics by their names. */
export type TopicSources = ReadonlyMap<string, TopicSource>;
