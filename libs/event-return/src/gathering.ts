import type { EventToReturn } from './event.ts';

/** Limits at which gathered events are written. */
export interface GatheringLimits {
  readonly events: number;
  /** Size of the data. A larger event is allowed and goes alone. */
  readonly bytes: number;
  /** Age at which incomplete batches are written, in ms; undefined: never. */
  readonly ageMs: number | undefined;
}

/**
 * Events that are written together. Everything up to `from` was written before, up to `to` with it.
 */
export interface Batch {
  readonly events: readonly EventToReturn[];
  readonly from: string;
  readonly to: string;
}

/** Without `event_return_queue` events are written at once; these few ms combine a burst. */
const LINGER_MS = 50;
/** Maximum of events per write without `event_return_queue`. */
const EVENTS = 500;
/** Maximum of events per write; the host of Python modules has the same limit. */
const EVENTS_MAX = 10_000;
const BYTES_MAX = 8 * 1024 * 1024;

/** Limits from `event_return_queue` and `event_return_queue_max_seconds`. */
export function gatheringLimits(queue: number, maxSeconds: number): GatheringLimits {
  if (queue <= 1) return { events: EVENTS, bytes: BYTES_MAX, ageMs: LINGER_MS };
  const ageMs = maxSeconds > 0 ? maxSeconds * 1_000 : undefined;
  return { events: Math.min(queue, EVENTS_MAX), bytes: BYTES_MAX, ageMs };
}

/** Gathers events until they are due to be written. */
export class Gathering {
  readonly #limits: GatheringLimits;
  readonly #now: () => number;
  #events: EventToReturn[] = [];
  #bytes = 0;
  #sinceMs = 0;
  #from: string;
  #to: string;

  /** @param position everything up to it was written; @param now a monotonic clock, ms */
  constructor(limits: GatheringLimits, position: string, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#from = this.#to = position;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Everything up to it was read. */
  get position(): string {
    return this.#to;
  }

  /** Everything up to it was written or skipped. */
  get written(): string {
    return this.isEmpty ? this.#to : this.#from;
  }

  add(event: EventToReturn): void {
    if (this.#events.length === 0) this.#sinceMs = this.#now();
    this.#events.push(event);
    this.#bytes += event.data.length;
    this.#to = event.position;
  }

  /** Skips an event that is not returned. */
  pass(position: string): void {
    this.#to = position;
  }

  /** Time that the events may still wait, in ms; 0: none; undefined: no limit. */
  get waitMs(): number | undefined {
    const { events, bytes, ageMs } = this.#limits;
    if (this.isEmpty) return undefined;
    if (this.#events.length >= events || this.#bytes >= bytes) return 0;
    return ageMs === undefined ? undefined : Math.max(0, this.#sinceMs + ageMs - this.#now());
  }

  /** Returns the gathered events; from now on they count as written. */
  take(): Batch {
    const batch = { events: this.#events, from: this.#from, to: this.#to };
    this.#events = [];
    this.#bytes = 0;
    this.#from = this.#to;
    return batch;
  }
}
