import type { EventKind } from '@brine/job';
import type { SaltMap } from '@brine/wire';

/** The start of a page of events. */
export type PageFrom =
  | 'now'
  | 'oldest'
  /** The `next` of a page, or the position of an event. */
  | { readonly position: string }
  /** Unix ms. */
  | { readonly timeMs: number }
  /** A number in the stream of events. */
  | { readonly seq: number };

/** Selects events of the bus. */
export interface PageQuestion {
  readonly from: PageFrom;
  /** Limits events to those before this time, unix ms. */
  readonly toMs?: number;
  /** A glob of tags. */
  readonly tag?: string;
  /** A glob of the minions that events are from or about. */
  readonly minion?: string;
  readonly jid?: string;
  readonly kinds?: readonly EventKind[];
  /** Limit of events in the page. */
  readonly max: number;
  /** Longest wait for the first event, in ms. */
  readonly waitMs: number;
}

/** An event in a page. */
export interface PagedEvent {
  readonly tag: string;
  readonly kind: EventKind;
  /** The minion that it is from or about. */
  readonly minion?: string;
  /** Time of storage, unix ms with a fraction. */
  readonly timeMs: number;
  /** Start of the page after this event. */
  readonly position: string;
  /** With `_stamp`, large values trimmed, as readers of a host's sockets get it. */
  readonly data: SaltMap;
}

/** Some events of the bus, in order. */
export interface EventPage {
  readonly events: readonly PagedEvent[];
  /** Start of the next page. Two pages have neither a gap nor a common event. */
  readonly next: string;
  /** True if everything that the master has stored was read. */
  readonly even: boolean;
  /** True if no more events come before `toMs`. */
  readonly over: boolean;
  /** Sentences about missing events. */
  readonly notices: readonly string[];
}

/** The bus of the cluster, as far back as its events are stored. */
export interface EventPages {
  /**
   * @throws RangeError for an invalid position, or more readers than one worker serves
   * @throws MasterUnavailableError if the streams are unreachable
   */
  page(question: PageQuestion): Promise<EventPage>;
}
