import type { LiveEvent } from './live-events.ts';
import type { Sight } from './sight.ts';

/** Text for followers, encoded once for all who get it. */
export class Frame {
  readonly text: string;
  /** Events in it. */
  readonly events: number;
  #bytes: Buffer | undefined;

  constructor(text: string, events: number) {
    this.text = text;
    this.events = events;
  }

  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(this.text));
  }
}

/** Makes the frames of followers that get the same. */
export interface FrameMaker {
  /** Takes an event that they may see; false if it changes nothing for them. */
  take(event: LiveEvent): boolean;
  /**
   * What they get now, empty if nothing; all up to this position was taken.
   * @param isLast they get no more of this: what is not due yet is due now
   */
  flush(position: string, isLast?: boolean): Pick<Frame, 'text' | 'events'>;
  /** Something is here that a later flush gives, though no event comes. */
  readonly isPending: boolean;
  /** Characters that wait for the flush. */
  readonly size: number;
  /** What a follower needs that joins others; empty if nothing. */
  begun?(position: string): string;
  /** The last follower is gone. */
  close?(): void;
}

/** What a slow follower did not get. */
export interface Missed {
  readonly dropped: number;
  /** The positions before and after it. */
  readonly from: string;
  readonly to: string;
}

/** How a kind of followers gets events. */
export interface Form {
  /** Followers with the same name and the same sight share their frames. */
  readonly name: string;
  /** Only events of these jobs are wanted; undefined: of all, and of none. */
  readonly jids?: ReadonlySet<string>;
  /** @param wake asks for a flush without an event */
  readonly make: (sight: Sight, wake: () => void) => FrameMaker;
  /** Informs a follower of what it missed. */
  readonly lag: (missed: Missed) => string;
  /** For a follower that got nothing for a while: all up to the position was taken. */
  readonly idle?: (position: string) => string;
  /** The position of a follower is of no use any more: it has to fetch all again. */
  readonly reset?: (position: string) => string;
  /** The end of a stream that its peer may open again. */
  readonly bye?: () => string;
}

/** How an event is written for a kind of follower. */
export type WriteFrame = (event: Pick<LiveEvent, 'tag' | 'data'>) => string;

/** The tag of the event that counts what a slow follower did not get. */
export const LAG_TAG = 'brine/netapi/dropped';

/** A form in which each event is written by itself. */
export function eventByEvent(name: string, write: () => WriteFrame): Form {
  return {
    name,
    make: () => new WrittenFrames(write()),
    lag: ({ dropped }) => write()({ tag: LAG_TAG, data: new Map([['dropped', dropped]]) }),
  };
}

class WrittenFrames implements FrameMaker {
  readonly isPending = false;
  readonly #write: WriteFrame;
  #texts: string[] = [];
  #size = 0;

  constructor(write: WriteFrame) {
    this.#write = write;
  }

  get size(): number {
    return this.#size;
  }

  take(event: LiveEvent): boolean {
    const text = this.#write(event);
    this.#texts.push(text);
    this.#size += text.length;
    return true;
  }

  flush(): Pick<Frame, 'text' | 'events'> {
    const texts = this.#texts;
    this.#texts = [];
    this.#size = 0;
    return { text: texts.join(''), events: texts.length };
  }
}
