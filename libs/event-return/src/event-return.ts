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
  /** Reading goes on from here: everything before it was taken or passed over. */
  readonly position: string;
  /** Messages that were passed over because they never can be read. */
  readonly unreadable: number;
  /** What is here, up to `max` events; waits for the first one up to `waitMs`. */
  take(max: number, waitMs: number): Promise<readonly FedEvent[]>;
  /** What the reader has to know about what it does not get. Each is given once. */
  takeNotices(): readonly { readonly kind: string; readonly text: string }[];
  close(): void;
}

/** What is counted of one returner. */
export interface EventReturnCounts {
  returned(events: number): void;
  quarantined(): void;
  /** Events that were passed over because they can not be read. */
  unreadable(events: number): void;
  /** Something was not returned because the streams hold it no more. */
  gap(): void;
}

/** What an event return works with. */
export interface EventReturnPorts extends Pick<DeliveryPorts, 'retry' | 'quarantine' | 'now'> {
  readonly returner: EventReturner;
  readonly openFeed: (from: 'now' | { readonly position: string }) => Promise<EventFeed>;
  /** Resolves after some ms, or at once when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly limits: GatheringLimits;
  /** `max_event_size` in bytes. */
  readonly maxEventSize: number;
  readonly counts: EventReturnCounts;
  readonly log: (level: 'info' | 'warn' | 'error', text: string, error?: unknown) => void;
}

/** Events that are taken from the feed at once. */
const TAKEN = 512;
/** Longest wait for events, in ms: a stop is noticed after it. */
const WAIT_MS = 200;
/** How often a place is saved that the returner keeps too, or that passed other events, in ms. */
const SAVE_MS = 5_000;
/** The wait after something that nobody foresaw, in ms. */
const AGAIN_MS = 2_000;
/** Different texts that are remembered as logged. */
const LOGGED_MAX = 20;

/**
 * Returns the events of the cluster to one returner. The events wait in the streams while the
 * returner is away; here are those of one batch.
 */
export class EventReturn {
  readonly #ports: EventReturnPorts;
  readonly #stopping = new AbortController();
  /** A text that repeats is logged once. */
  readonly #logged = new Set<string>();
  /** The batch that is being written. */
  #inHand: Batch | undefined;
  #isOwner = false;
  #isMissing = false;
  #place: Place | undefined;
  /** Ends when all work so far has ended; never rejects. */
  #working: Promise<unknown> = Promise.resolve();

  constructor(ports: EventReturnPorts) {
    this.#ports = ports;
  }

  get name(): string {
    return this.#ports.returner.name;
  }

  /** Whether this process is the one that writes. */
  get isOwner(): boolean {
    return this.#isOwner;
  }

  /** Whether there is no such returner here: this process needs no right to write any more. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  /** When the oldest event was stored that is being written, unix ms; undefined for none. */
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

  /** Writes what was gathered, and ends. The place is saved then. */
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

/** What an owner works with. */
interface OwnerParts extends EventReturnPorts {
  readonly place: Place;
  readonly feed: EventFeed;
  readonly inHand: (batch: Batch | undefined) => void;
}

/** What the process does that writes. */
class Owner {
  readonly #parts: OwnerParts;
  readonly #gathering: Gathering;
  readonly #delivery: Delivery;
  /** The position that was kept last, and when. */
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

  /** Resolves once it is to stop, and what was gathered is written or left to the next process. */
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
      // A batch is no larger than its limits, however many events came at once.
      if (this.#gathering.waitMs === 0 && !(await this.#deliver())) return false;
    }
    return true;
  }

  /** Undefined for what is no event. */
  async #read(event: FedEvent): Promise<EventToReturn | undefined> {
    const { counts, maxEventSize } = this.#parts;
    let body: Uint8Array | undefined;
    try {
      if (isFetched(event, maxEventSize)) body = await event.body();
    } catch (error) {
      // A body that is gone stays so.
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

  /** Writes, while no other process can be writing. */
  async #write(batch: Batch): Promise<unknown> {
    await this.#parts.place.check();
    return this.#parts.returner.write(batch);
  }

  async #written({ events, to }: Batch, note: unknown): Promise<void> {
    this.#parts.counts.returned(events.length);
    this.#kept = to;
    this.#keptMs = this.#parts.now();
    // A returner that keeps its place needs no other one. But what is before the place in NATS is
    // what the streams need not hold any longer.
    const isSoon = this.#keptMs - this.#parts.place.savedMs < SAVE_MS;
    if (this.#parts.returner.keepsPlace && isSoon) return;
    await this.#save({ position: to, ...(note === undefined ? {} : { note }) });
  }

  /** Keeps the place where events passed that are not returned, but not too often. */
  async #keepPlace(everyMs: number): Promise<boolean> {
    const gathering = this.#gathering;
    const isDue = this.#parts.now() - this.#keptMs >= everyMs;
    if (!isDue || !gathering.isEmpty) return true;
    if (gathering.written !== this.#kept) {
      const batch = gathering.take();
      if (!(await this.#delivery.deliver(batch))) return false;
    }
    // What the streams need not hold any longer.
    if (this.#parts.place.saved.position !== this.#kept) await this.#save({ position: this.#kept });
    this.#keptMs = this.#parts.now();
    return true;
  }

  /** Saves a place; throws where this process must not write any more. */
  async #save(place: SavedPlace): Promise<void> {
    await this.#parts.retry(async () => {
      await this.#parts.place.save(place);
      return {};
    }, isAway);
  }

  /** Where NATS is away the next process begins behind what was saved before. */
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

/** Errors of the edges say whether the same may succeed later. */
function isAway(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}
