import { Reached } from '@brine/bus/timeline';
import type { LiveEvent } from './live-events.ts';

/** Bytes and events that are kept; each event costs some 400 bytes beside its body. */
const BYTES_MAX = 16 * 1024 * 1024;
const EVENTS_MAX = 40_000;
/** With what was read again for followers that resume, it may be this much more for a while. */
const EXTENDED = 2;
const EXTENDED_MS = 60_000;
const REMOVED_AT_ONCE = 2_048;

/** An event that can be read again. */
export interface RecentEvent extends LiveEvent {
  /** Drops what was read of its body. */
  readonly forget?: () => void;
}

/** Where a follower continues in what is kept. */
export interface Resumed {
  /** Events before this one were read. */
  readonly seq: number;
  /** Of the events before this one, those of `reached` were read too. */
  readonly mixedTo: number;
  readonly reached: Reached;
}

/**
 * The last events that this process read, once for all followers that resume. Each has a number, in
 * the order in which it came.
 */
export class RecentEvents {
  #events: RecentEvent[] = [];
  /** Events before this index were dropped. */
  #head = 0;
  #first = 0;
  #bytes = 0;
  #base = '';
  #extendedUntil = 0;

  /** Reading began here: all events after it come. */
  begin(position: string): void {
    this.#first = this.end;
    this.#events = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#base = position;
  }

  /** The number of the oldest event that is kept. */
  get first(): number {
    return this.#first;
  }

  /** The number that the next event gets. */
  get end(): number {
    return this.#first + this.#events.length - this.#head;
  }

  /** The position before the oldest event that is kept. */
  get base(): string {
    return this.#base;
  }

  /** The position after the newest. */
  get position(): string {
    return (this.end === this.#first ? undefined : this.#events.at(-1)?.position) ?? this.#base;
  }

  /** Takes an event; gives its number. */
  add(event: RecentEvent): number {
    this.#events.push(event);
    this.#bytes += event.packed.length;
    this.#trim();
    return this.end - 1;
  }

  /** Takes older events, which end where what is kept begins. */
  extend(older: readonly RecentEvent[], base: string): void {
    this.#events = [...older, ...this.#events.slice(this.#head)];
    this.#head = 0;
    this.#first -= older.length;
    this.#base = base;
    for (const { packed } of older) this.#bytes += packed.length;
    this.#extendedUntil = Date.now() + EXTENDED_MS;
  }

  /** The position before the event with this number. */
  before(seq: number): string {
    if (seq <= this.#first) return this.#base;
    return this.#events[this.#index(seq) - 1]?.position ?? this.#base;
  }

  /** The events from a number up to, but not including, another one. */
  slice(from: number, to: number): readonly RecentEvent[] {
    return this.#events.slice(this.#index(from), this.#index(to));
  }

  /** Where a reader that has reached a position continues; undefined if that is not kept. */
  resume(position: string): Resumed | undefined {
    const reached = new Reached(position);
    if (!reached.hasAll(this.#base)) return undefined;
    const at = this.#search((event) => !reached.hasAll(event.position));
    const mixedTo = this.#search((event) => new Reached(event.position).hasAll(position));
    return { seq: at, mixedTo: mixedTo + 1, reached };
  }

  /** True if the newest event is not before this position. */
  isPast(position: string): boolean {
    return new Reached(this.position).hasAll(position);
  }

  #index(seq: number): number {
    return this.#head + Math.max(0, seq - this.#first);
  }

  /** The number of the first event for which this is true, as it is for all after it. */
  #search(isAfter: (event: RecentEvent) => boolean): number {
    let [low, high] = [this.#head, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const event = this.#events[middle];
      if (event !== undefined && isAfter(event)) high = middle;
      else low = middle + 1;
    }
    return low - this.#head + this.#first;
  }

  #trim(): void {
    const more = Date.now() < this.#extendedUntil ? EXTENDED : 1;
    while (this.end - this.#first > EVENTS_MAX * more || this.#bytes > BYTES_MAX * more) {
      const oldest = this.#events[this.#head];
      if (oldest === undefined) return;
      this.#bytes -= oldest.packed.length;
      this.#base = oldest.position;
      this.#head += 1;
      this.#first += 1;
    }
    // Each removal moves all that follow, so many are removed at once.
    if (this.#head < REMOVED_AT_ONCE) return;
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }
}
