import { Delivery, type DeliveryPorts } from './delivery.ts';
import {
  type EventToReturn,
  eventToReturn,
  type FedEvent,
  isFetched,
  isUnreadable,
} from './event.ts';
import { type Batch, Gathering, type GatheringLimits } from './gathering.ts';
import { Place, type PlaceKeeper } from './place.ts';
import { type EventReturner, failureOf, ReturnerError, type SavedPlace } from './returner.ts';

/** The events of the cluster in their order, from a position on. */
export interface EventFeed {
  /** Reading resumes here: everything before it was taken or skipped. */
  readonly position: string;
  /** Number of messages that were skipped because they can never be read. */
  readonly unreadable: number;
  /** Returns up to `max` available events; waits for the first one up to `waitMs`. */
  take(max: number, waitMs: number): Promise<readonly FedEvent[]>;
  /** Reasons why events were not delivered. Each is returned once. */
  takeNotices(): readonly { readonly kind: string; readonly text: string }[];
  close(): void;
}

/** Counters of one returner. */
export interface EventReturnCounts {
  returned(events: number): void;
  quarantined(): void;
  /** Counts events that were skipped because they can not be read. */
  unreadable(events: number): void;
  /** Counts events that were not returned because the streams no longer have them. */
  gap(): void;
}

export interface EventReturnPorts extends Pick<DeliveryPorts, 'retry' | 'quarantine' | 'now'> {
  readonly returner: EventReturner;
  readonly openFeed: (from: 'now' | { readonly position: string }) => Promise<EventFeed>;
  /** Resolves after some ms, or at once if `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly limits: GatheringLimits;
  /** `max_event_size` in bytes. */
  readonly maxEventSize: number;
  readonly counts: EventReturnCounts;
  readonly log: (level: 'info' | 'warn' | 'error', text: string, error?: unknown) => void;
}

/** Number of events that are taken from the feed at once. */
const TAKEN = 512;
/** Longest wait for events, in ms; it delays a stop. */
const WAIT_MS = 200;
/** Save interval of a place that the returner keeps too, or that only skips events, in ms. */
const SAVE_MS = 5_000;
/** Delay after an unexpected error, in ms. */
const AGAIN_MS = 2_000;
/** Number of log texts that are remembered as logged. */
const LOGGED_MAX = 20;

/**
 * Returns the events of the cluster to one returner. Only one batch is in memory; further events
 * wait in the streams while the returner is unreachable.
 */
export class EventReturn {
  readonly #ports: EventReturnPorts;
  readonly #stopping = new AbortController();
  /** Texts that were logged; a repeated text is logged once. */
  readonly #logged = new Set<string>();
  /** The batch that is being written. */
  #inHand: Batch | undefined;
  #isOwner = false;
  #isMissing = false;
  #place: Place | undefined;
  /** Resolves when all work so far has ended; never rejects. */
  #working: Promise<unknown> = Promise.resolve();

  constructor(ports: EventReturnPorts) {
    this.#ports = ports;
  }

  get name(): string {
    return this.#ports.returner.name;
  }

  /** True if this process writes to the returner. */
  get isOwner(): boolean {
    return this.#isOwner;
  }

  /** True if the returner does not exist here: this process no longer needs the right to write. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  /** Storage time of the oldest event that is being written, unix ms; undefined without a batch. */
  get oldestMs(): number | undefined {
    return this.#inHand?.events[0]?.timeMs;
  }

  /**
   * Returns events until `keeper` is released, or this is closed.
   * @throws ReturnerError `missing`
   */
  work(keeper: PlaceKeeper): Promise<void> {
    const working = this.#working.then(() => this.#work(keeper));
    this.#working = working.catch(() => undefined);
    return working;
  }

  /** Writes the gathered events and saves the place. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
    await this.#ports.returner.close();
  }

  async #work(keeper: PlaceKeeper): Promise<void> {
    const { log, now, sleep } = this.#ports;
    const { released } = keeper;
    const place = (this.#place = new Place(keeper, now, this.#place));
    const stop = AbortSignal.any([released, this.#stopping.signal]);
    while (!stop.aborted) {
      this.#isOwner = true;
      try {
        return await this.#serve(place, stop);
      } catch (error) {
        if (released.aborted || failureOf(error) === 'moved') {
          log('info', 'another process may return the events now');
        } else if (failureOf(error) === 'missing') {
          this.#isMissing = true;
          log('error', 'events are not returned there until the master starts again', error);
          throw error;
        } else this.#logOnce('the return of events was interrupted', error);
      } finally {
        this.#isOwner = false;
        this.#inHand = undefined;
      }
      await sleep(AGAIN_MS, stop);
    }
  }

  #logOnce(text: string, error: unknown): void {
    const line = `${text}: ${error instanceof Error ? error.message : ''}`;
    if (this.#logged.has(line) || this.#logged.size >= LOGGED_MAX) return;
    this.#logged.add(line);
    this.#ports.log(isAway(error) ? 'warn' : 'error', text, error);
  }

  /** Resolves when this process is to stop. */
  async #serve(place: Place, stop: AbortSignal): Promise<void> {
    const { openFeed, retry, returner } = this.#ports;
    const opened = await retry(async () => {
      await place.check();
      const { saved } = place;
      return { saved, kept: await returner.open(saved) };
    }, isOutage);
    if (opened === undefined) return;
    const from = returner.keepsPlace ? opened.kept : opened.saved.position;
    const start = from === undefined ? ('now' as const) : { position: from };
    const fed = await retry(async () => ({ feed: await openFeed(start) }), isOutage);
    if (fed === undefined) return;
    const inHand = (batch: Batch | undefined): void => void (this.#inHand = batch);
    try {
      const parts = { ...this.#ports, place, feed: fed.feed, inHand };
      await new Owner(parts, from ?? '').run(stop);
    } finally {
      fed.feed.close();
    }
  }
}

/** Dependencies of an {@link Owner}. */
interface OwnerParts extends EventReturnPorts {
  readonly place: Place;
  readonly feed: EventFeed;
  readonly inHand: (batch: Batch | undefined) => void;
}

/** The work of the process that owns the returner. */
class Owner {
  readonly #parts: OwnerParts;
  readonly #gathering: Gathering;
  readonly #delivery: Delivery;
  /** The position that was kept last, and its time. */
  #kept: string;
  #keptMs = -Infinity;
  #unreadable = 0;

  constructor(parts: OwnerParts, from: string) {
    this.#parts = parts;
    this.#kept = from;
    const { limits, retry, quarantine, counts, log, now } = parts;
    this.#gathering = new Gathering(limits, from, now);
    this.#delivery = new Delivery({
      retry,
      quarantine,
      now,
      write: (batch) => this.#write(batch),
      written: (batch, note) => this.#written(batch, note),
      quarantined: ({ tag }, error) => {
        counts.quarantined();
        log('error', `an event was refused and is in quarantine: ${tag.slice(0, 200)}`, error);
      },
    });
  }

  /**
   * Resolves once it is to stop, and the gathered events are written or left to the next process.
   */
  async run(stop: AbortSignal): Promise<void> {
    const gathering = this.#gathering;
    gathering.pass(this.#parts.feed.position);
    if (!(await this.#keepPlace(0))) return this.#leave();
    while (!stop.aborted) {
      if (gathering.waitMs === 0) {
        if (!(await this.#deliver())) break;
        continue;
      }
      const waitMs = Math.min(gathering.waitMs ?? WAIT_MS, WAIT_MS);
      const events = await this.#parts.feed.take(TAKEN, waitMs);
      if (!(await this.#addAll(events))) break;
      gathering.pass(this.#parts.feed.position);
      this.#logNotices();
      if (!(await this.#keepPlace(SAVE_MS))) break;
    }
    if (!gathering.isEmpty) await this.#deliver();
    return this.#leave();
  }

  async #addAll(events: readonly FedEvent[]): Promise<boolean> {
    for (const event of events) {
      const reading = async () => ({ event: await this.#read(event) });
      const read = await this.#parts.retry(reading, isAway);
      if (read === undefined) return false;
      if (read.event !== undefined) this.#gathering.add(read.event);
      else this.#gathering.pass(event.position);
      // Many events at once must not make a batch larger than its limits.
      if (this.#gathering.waitMs === 0 && !(await this.#deliver())) return false;
    }
    return true;
  }

  /** Returns undefined if the message is no event. */
  async #read(event: FedEvent): Promise<EventToReturn | undefined> {
    const { counts, maxEventSize } = this.#parts;
    let body: Uint8Array | undefined;
    try {
      if (isFetched(event, maxEventSize)) body = await event.body();
    } catch (error) {
      // A deleted body stays deleted.
      if (isAway(error)) throw error;
    }
    try {
      return eventToReturn(event, body, maxEventSize);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      counts.unreadable(1);
      return undefined;
    }
  }

  async #deliver(): Promise<boolean> {
    const batch = this.#gathering.take();
    this.#parts.inHand(batch);
    try {
      return await this.#delivery.deliver(batch);
    } finally {
      this.#parts.inHand(undefined);
    }
  }

  /** Writes a batch while no other process can write. */
  async #write(batch: Batch): Promise<unknown> {
    await this.#parts.place.check();
    return this.#parts.returner.write(batch);
  }

  async #written({ events, to }: Batch, note: unknown): Promise<void> {
    this.#parts.counts.returned(events.length);
    this.#kept = to;
    this.#keptMs = this.#parts.now();
    // A returner that keeps its place needs no other record. But the streams may delete everything
    // before the place in NATS.
    const isSoon = this.#keptMs - this.#parts.place.savedMs < SAVE_MS;
    if (this.#parts.returner.keepsPlace && isSoon) return;
    await this.#save({ position: to, ...(note === undefined ? {} : { note }) });
  }

  /** Saves the place after events that are not returned, but not too often. */
  async #keepPlace(everyMs: number): Promise<boolean> {
    const gathering = this.#gathering;
    const isDue = this.#parts.now() - this.#keptMs >= everyMs;
    if (!isDue || !gathering.isEmpty) return true;
    if (gathering.written !== this.#kept) {
      const batch = gathering.take();
      if (!(await this.#delivery.deliver(batch))) return false;
    }
    // Lets the streams delete everything before this place.
    if (this.#parts.place.saved.position !== this.#kept) await this.#save({ position: this.#kept });
    this.#keptMs = this.#parts.now();
    return true;
  }

  /** Saves a place; throws if this process must not write any more. */
  async #save(place: SavedPlace): Promise<void> {
    await this.#parts.retry(async () => {
      await this.#parts.place.save(place);
      return {};
    }, isAway);
  }

  /** If NATS is unreachable, the next process starts from the place that was saved before. */
  async #leave(): Promise<void> {
    if (this.#parts.place.saved.position === this.#kept) return;
    await this.#parts.place.save({ position: this.#kept }).catch(() => undefined);
  }

  #logNotices(): void {
    const { counts, log } = this.#parts;
    for (const { text } of this.#parts.feed.takeNotices()) {
      counts.gap();
      log('error', `events may be missing: ${text}`);
    }
    const { unreadable } = this.#parts.feed;
    if (unreadable > this.#unreadable) counts.unreadable(unreadable - this.#unreadable);
    this.#unreadable = unreadable;
  }
}

function isOutage(error: unknown): boolean {
  if (!(error instanceof ReturnerError)) return isAway(error);
  return error.failure === 'away' || error.failure === 'unclear';
}

/** Network errors have `retryable`: true if the same call may succeed later. */
function isAway(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}
