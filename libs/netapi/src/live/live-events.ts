import type { Bus } from '@brine/bus';
import { eventData } from '@brine/bus/event-data';
import { type BusEvent, Timeline, type TimelineSide } from '@brine/bus/timeline';
import type { EventKind } from '@brine/job';
import { errorText, sleepUnless } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';

/** An event as it came, read once for all who follow. */
export interface LiveEvent {
  readonly tag: string;
  readonly kind: EventKind;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  /** Reading resumes after this event from here. */
  readonly position: string;
  /** The stream that has it. */
  readonly side: TimelineSide;
  /** When the stream stored it, in ms since 1970, with microseconds as its fraction. */
  readonly timeMs: number;
  /** Its body as the stream has it. */
  readonly packed: Uint8Array;
  /** Its data with `_stamp`, as Salt's readers get it. */
  readonly data: SaltMap;
}

/** An event whose data is read when it is needed. */
export class ReadEvent implements LiveEvent {
  readonly tag: string;
  readonly kind: EventKind;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  readonly position: string;
  readonly side: TimelineSide;
  readonly timeMs: number;
  readonly packed: Uint8Array;
  #data: SaltMap | undefined;

  constructor({ tag, kind, jid, minion, position, side, timeMs }: BusEvent, packed: Uint8Array) {
    this.tag = tag;
    this.kind = kind;
    this.jid = jid;
    this.minion = minion;
    this.position = position;
    this.packed = packed;
    this.side = side;
    this.timeMs = timeMs;
  }

  /** Drops what was read of its body: it is read again when it is needed. */
  forget(): void {
    this.#data = undefined;
  }

  get data(): SaltMap {
    return (this.#data ??= eventData(this.packed, this.timeMs, this.kind));
  }
}

/** A follower of all events, until closed. */
export interface Following {
  close(): void;
}

/** Where the events that come are in the streams. */
export interface LivePlace {
  /** All events after this position come; called before the first one. */
  begin(position: string): void;
  /** Some events before this position can not be read any more, or the streams are others. */
  gap(position: string): void;
}

/** Pause before the streams are opened again, ms. */
const REOPEN_MS = 500;
/** Events of one turn, and how long it waits for the first, ms. */
const TAKEN_AT_ONCE = 256;
const WAIT_MS = 1_000;

/**
 * All events of the cluster, from now on: one reader for all calls and followers of this process.
 * It begins with the first of them, and resumes where it was when the streams were away.
 */
export class LiveEvents {
  readonly #bus: Bus;
  readonly #onTrouble: (text: string, error: unknown) => void;
  readonly #followers = new Map<(event: LiveEvent) => void, LivePlace | undefined>();
  readonly #stopping = new AbortController();
  #opening: Promise<void> | undefined;
  #timeline: Timeline | undefined;
  #read = 0;
  /** The position of the last event that was handed out. */
  #position = '';

  constructor(bus: Bus, onTrouble: (text: string, error: unknown) => void) {
    this.#bus = bus;
    this.#onTrouble = onTrouble;
  }

  /** How many follow, and how many events were read. */
  get stats(): { readonly followers: number; readonly read: number } {
    return { followers: this.#followers.size, read: this.#read };
  }

  /** Each event up to here was handed to all who listen; empty before the first of them. */
  get position(): string {
    return this.#position;
  }

  /**
   * Calls the handler with each event that is stored after this resolves. A handler must not throw.
   * @throws BusError if the streams are unreachable
   */
  async listen(onEvent: (event: LiveEvent) => void, place?: LivePlace): Promise<Following> {
    try {
      await (this.#opening ??= this.#open());
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
    this.#followers.set(onEvent, place);
    place?.begin(this.#position);
    return { close: () => void this.#followers.delete(onEvent) };
  }

  /** True if all events that the streams have now were handed out. */
  get isEven(): boolean {
    return this.#timeline?.isEven === true && this.#position === this.#timeline.position;
  }

  /** Ends the reading; followers get no more events. */
  close(): void {
    this.#stopping.abort();
    this.#followers.clear();
    this.#timeline?.close();
  }

  async #open(): Promise<void> {
    this.#timeline = await Timeline.open(this.#bus, { from: 'now' });
    this.#position = this.#timeline.position;
    void this.#follow(this.#timeline);
  }

  async #follow(first: Timeline): Promise<void> {
    const { signal } = this.#stopping;
    let timeline = first;
    while (!signal.aborted) {
      const { position } = timeline;
      try {
        while (!signal.aborted) await this.#takeSome(timeline);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#onTrouble(`events are not read: ${errorText(error)}`, error);
      }
      const next = await this.#reopened(timeline.position || position);
      if (next === undefined) return;
      timeline = this.#timeline = next;
    }
  }

  /** The reader again, after the last event that was handed out; undefined at the end. */
  async #reopened(position: string): Promise<Timeline | undefined> {
    while (await sleepUnless(REOPEN_MS, this.#stopping.signal)) {
      try {
        return await Timeline.open(this.#bus, { from: { position } });
      } catch (error) {
        this.#onTrouble(`events are not read: ${errorText(error)}`, error);
      }
    }
    return undefined;
  }

  async #takeSome(timeline: Timeline): Promise<void> {
    for (const event of await timeline.take(TAKEN_AT_ONCE, WAIT_MS)) await this.#take(event);
    this.#position = timeline.position;
    const notices = timeline.takeNotices();
    if (notices.length === 0) return;
    for (const { text } of notices) this.#onTrouble(text, undefined);
    for (const place of this.#followers.values()) place?.gap(this.#position);
  }

  async #take(event: BusEvent): Promise<void> {
    this.#read += 1;
    if (this.#followers.size === 0) {
      this.#position = event.position;
      return;
    }
    let packed: Uint8Array;
    try {
      packed = await event.body();
    } catch (error) {
      this.#position = event.position;
      this.#onTrouble(`the data of an event is gone: ${errorText(error)}`, error);
      return;
    }
    this.#position = event.position;
    const live = new ReadEvent(event, packed);
    for (const onEvent of this.#followers.keys()) onEvent(live);
  }
}
