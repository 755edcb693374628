import type { EventToReturn } from './event.ts';

/** When what was gathered is written. */
export interface GatheringLimits {
  readonly events: number;
  /** Of the data; a single event may be larger and then goes alone. */
  readonly bytes: number;
  /** After so long, in ms, whatever there is; undefined: never. */
  readonly ageMs: number | undefined;
}

/** Events that are written together. Up to `from` all was written before, up to `to` with it. */
export interface Batch {
  readonly events: readonly EventToReturn[];
  readonly from: string;
  readonly to: string;
}

/** Without `event_return_queue` events are written as they come: these few ms make one write. */
const LINGER_MS = 50;
/** Events of one write without `event_return_queue`. */
const EVENTS = 500;
/** Most events of one write: the host of Python modules takes as many. */
const EVENTS_MAX = 10_000;
const BYTES_MAX = 8 * 1024 * 1024;

/** The limits that `event_return_queue` and `event_return_queue_max_seconds` ask for. */
export function gatheringLimits(queue: number, maxSeconds: number): GatheringLimits {
  if (queue <= 1) return { events: EVENTS, bytes: BYTES_MAX, ageMs: LINGER_MS };
  const ageMs = maxSeconds > 0 ? maxSeconds * 1_000 : undefined;
  return { events: Math.min(queue, EVENTS_MAX), bytes: BYTES_MAX, ageMs };
}

/** Gathers events until they are to be written. */
export class Gathering {
  readonly #limits: GatheringLimits;
  readonly #now: () => number;
  #events: EventToReturn[] = [];
  #bytes = 0;
  #sinceMs = 0;
  #from: string;
  #to: string;

  /** @param position up to it all was written; @param now a monotonic clock, ms */
  constructor(limits: GatheringLimits, position: string, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#from = this.#to = position;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Up to it all was read. */
  get position(): string {
    return this.#to;
  }

  /** Up to it all was written, or nothing was to be written. */
  get written(): string {
    return this.isEmpty ? this.#to : this.#from;
  }

  add(event: EventToReturn): void {
    if (this.#events.length === 0) this.#sinceMs = this.#now();
    this.#events.push(event);
    this.#bytes += event.data.length;
    this.#to = event.position;
  }

  /** Something was read that is not returned. */
  pass(position: string): void {
    this.#to = position;
  }

  /** How long the events may still wait, in ms; 0: no longer; undefined: as long as they like. */
  get waitMs(): number | undefined {
    const { events, bytes, ageMs } = this.#limits;
    if (this.isEmpty) return undefined;
    if (this.#events.length >= events || this.#bytes >= bytes) return 0;
    return ageMs === undefined ? undefined : Math.max(0, this.#sinceMs + ageMs - this.#now());
  }

  /** What was gathered; from now on it counts as written. */
  take(): Batch {
    const batch = { events: this.#events, from: this.#from, to: this.#to };
    this.#events = [];
    this.#bytes = 0;
    this.#from = this.#to;
    return batch;
  }
}
