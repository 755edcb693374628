import type { EventKind } from '@brine/job';
import type { SaltMap } from '@brine/wire';

/** Where a page of events begins. */
export type PageFrom =
  | 'now'
  | 'oldest'
  /** The `next` of a page, or the position of an event. */
  | { readonly position: string }
  /** Unix ms. */
  | { readonly timeMs: number }
  /** A number in the stream of events. */
  | { readonly seq: number };

/** Which events of the bus are asked for. */
export interface PageQuestion {
  readonly from: PageFrom;
  /** Only events from before this time, unix ms. */
  readonly toMs?: number;
  /** A glob of tags. */
  readonly tag?: string;
  /** A glob of the minions that events are from or about. */
  readonly minion?: string;
  readonly jid?: string;
  readonly kinds?: readonly EventKind[];
  /** Most events of the page. */
  readonly max: number;
  /** How long to wait for the first one, in ms. */
  readonly waitMs: number;
}

/** An event as a page has it. */
export interface PagedEvent {
  readonly tag: string;
  readonly kind: EventKind;
  /** The minion that it is from or about. */
  readonly minion?: string;
  /** When it was stored, unix ms with a fraction. */
  readonly timeMs: number;
  /** The page after it begins here. */
  readonly position: string;
  /** With `_stamp`, and what is too large trimmed, as readers of a host's sockets get it. */
  readonly data: SaltMap;
}

/** Some events of the bus, in order. */
export interface EventPage {
  readonly events: readonly PagedEvent[];
  /** Where the next page begins. No event is left out between two pages, and none is in both. */
  readonly next: string;
  /** All that the master keeps was looked at. */
  readonly even: boolean;
  /** Nothing more comes before `toMs`. */
  readonly over: boolean;
  /** Sentences about events that are not there. */
  readonly notices: readonly string[];
}

/** The bus of the cluster, as far back as it is kept. */
export interface EventPages {
  /**
   * @throws RangeError for a position that is none, or more readers than one worker serves
   * @throws MasterUnavailableError where the streams are away
   */
  page(question: PageQuestion): Promise<EventPage>;
}
