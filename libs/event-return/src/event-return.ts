import { Delivery, type DeliveryPorts } from './delivery.ts';
import {
  type EventToReturn,
  eventToReturn,
  type FedEvent,
  isFetched,
  isUnreadable,
} from './event.ts';
import { type Batch, Gathering, type GatheringLimits } from './gathering.ts';
import { claim, type Lease, LeaseLostError, type LeasePorts, RENEW_MS } from './leases.ts';
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
export interface EventReturnPorts extends Pick<DeliveryPorts, 'retry' | 'quarantine'> {
  readonly returner: EventReturner;
  readonly openFeed: (from: 'now' | { readonly position: string }) => Promise<EventFeed>;
  readonly lease: LeasePorts;
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
/** The wait after something that nobody foresaw, in ms. */
const AGAIN_MS = 2_000;
/** Different troubles that are remembered as said. */
const LOGGED_MAX = 20;

/**
 * Returns the events of the cluster to one returner. Of several processes one does it at a time.
 * The events wait in the streams while the returner is away; here are those of one batch.
 */
export class EventReturn {
  readonly #ports: EventReturnPorts;
  readonly #stopping = new AbortController();
  /** The batch that is being written. */
  #inHand: Batch | undefined;
  #isOwner = false;
  /** Resolves when it has ended; never rejects. */
  readonly finished: Promise<void>;

  /** Begins at once. */
  constructor(ports: EventReturnPorts) {
    this.#ports = ports;
    this.finished = this.#run();
  }

  /** Whether this process is the one that writes. */
  get isOwner(): boolean {
    return this.#isOwner;
  }

  /** When the oldest event was stored that is being written, unix ms; undefined for none. */
  get oldestMs(): number | undefined {
    return this.#inHand?.events[0]?.timeMs;
  }

  /** Writes what was gathered, lets another process go on, and ends. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.finished;
  }

  async #run(): Promise<void> {
    const { lease: leases, log, returner } = this.#ports;
    const { signal } = this.#stopping;
    // What comes again and again is said once.
    const logged = new Set<string>();
    const logOnce = (text: string, error: unknown): void => {
      const line = `${text}: ${error instanceof Error ? error.message : ''}`;
      if (logged.has(line) || logged.size >= LOGGED_MAX) return;
      logged.add(line);
      log(isAway(error) ? 'warn' : 'error', text, error);
    };
    while (!signal.aborted) {
      const lease = await claim(leases, signal, (error) =>
        logOnce('the place of a returner of events can not be read', error),
      );
      if (lease === undefined) break;
      this.#isOwner = true;
      try {
        await this.#serve(lease);
      } catch (error) {
        if (failureOf(error) === 'missing') {
          log('error', 'events are not returned there until the master starts again', error);
          await lease.release().catch(() => undefined); // It ends by itself.
          break;
        }
        const isElsewhere = error instanceof LeaseLostError || failureOf(error) === 'moved';
        if (isElsewhere) log('info', 'another process returns the events now');
        else logOnce('the return of events was interrupted', error);
        await leases.sleep(AGAIN_MS, signal);
      } finally {
        this.#isOwner = false;
        this.#inHand = undefined;
      }
    }
    await returner.close();
  }

  async #serve(lease: Lease): Promise<void> {
    const { openFeed, retry, returner } = this.#ports;
    const { saved } = lease;
    const opened = await retry(async () => ({ kept: await returner.open(saved) }), isOutage);
    if (opened === undefined) return lease.release();
    const from = returner.keepsPlace ? opened.kept : saved.position;
    const start = from === undefined ? ('now' as const) : { position: from };
    const fed = await retry(async () => ({ feed: await openFeed(start) }), isOutage);
    if (fed === undefined) return lease.release();
    const { feed } = fed;
    const renewal = setInterval(() => {
      // A failure is noticed before the next write, since the lease is not sure then.
      lease.save().catch(() => undefined);
    }, RENEW_MS);
    renewal.unref();
    try {
      await new Owner(this.#ports, lease, feed, from ?? '', (batch) => {
        this.#inHand = batch;
      }).run(this.#stopping.signal);
    } finally {
      clearInterval(renewal);
      feed.close();
    }
  }
}

/** What the process does that writes. */
class Owner {
  readonly #ports: EventReturnPorts;
  readonly #lease: Lease;
  readonly #feed: EventFeed;
  readonly #gathering: Gathering;
  readonly #delivery: Delivery;
  readonly #inHand: (batch: Batch | undefined) => void;
  /** The position that was kept last, and when. */
  #kept: string;
  #keptMs = -Infinity;
  /** When a place was last saved in NATS. */
  #savedMs = -Infinity;
  #unreadable = 0;

  constructor(
    ports: EventReturnPorts,
    lease: Lease,
    feed: EventFeed,
    from: string,
    inHand: (batch: Batch | undefined) => void,
  ) {
    this.#ports = ports;
    this.#lease = lease;
    this.#feed = feed;
    this.#inHand = inHand;
    this.#kept = from;
    const { limits, retry, quarantine, counts, log } = ports;
    const { now } = ports.lease;
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
  async run(stopping: AbortSignal): Promise<void> {
    const gathering = this.#gathering;
    gathering.pass(this.#feed.position);
    if (!(await this.#keepPlace(0))) return this.#leave();
    while (!stopping.aborted) {
      if (gathering.waitMs === 0) {
        if (!(await this.#deliver())) break;
        continue;
      }
      const waitMs = Math.min(gathering.waitMs ?? WAIT_MS, WAIT_MS);
      const events = await this.#feed.take(TAKEN, waitMs);
      if (!(await this.#addAll(events))) break;
      gathering.pass(this.#feed.position);
      this.#logNotices();
      if (!(await this.#keepPlace(RENEW_MS))) break;
    }
    if (!gathering.isEmpty) await this.#deliver();
    return this.#leave();
  }

  async #addAll(events: readonly FedEvent[]): Promise<boolean> {
    for (const event of events) {
      const reading = async () => ({ event: await this.#read(event) });
      const read = await this.#ports.retry(reading, isAway);
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
    const { counts, maxEventSize } = this.#ports;
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
    this.#inHand(batch);
    try {
      return await this.#delivery.deliver(batch);
    } finally {
      this.#inHand(undefined);
    }
  }

  /** Writes, while no other process can be writing. */
  #write(batch: Batch): Promise<unknown> {
    if (this.#lease.isLost) throw new ReturnerError('moved', 'another process writes');
    if (!this.#lease.isSure) throw new ReturnerError('away', 'NATS does not confirm the lease');
    return this.#ports.returner.write(batch);
  }

  async #written({ events, to }: Batch, note: unknown): Promise<void> {
    this.#ports.counts.returned(events.length);
    this.#kept = to;
    this.#keptMs = this.#ports.lease.now();
    // A returner that keeps its place needs no other one. But what is before the place in NATS is
    // what the streams need not hold any longer.
    const isSoon = this.#keptMs - this.#savedMs < RENEW_MS;
    if (this.#ports.returner.keepsPlace && isSoon) return;
    await this.#save({ position: to, ...(note === undefined ? {} : { note }) });
  }

  /** Keeps the place where events passed that are not returned, but not too often. */
  async #keepPlace(everyMs: number): Promise<boolean> {
    const gathering = this.#gathering;
    const isDue = this.#ports.lease.now() - this.#keptMs >= everyMs;
    if (!isDue || !gathering.isEmpty) return true;
    if (gathering.written !== this.#kept) {
      const batch = gathering.take();
      if (!(await this.#delivery.deliver(batch))) return false;
    }
    // What the streams need not hold any longer.
    if (this.#lease.saved.position !== this.#kept) await this.#save({ position: this.#kept });
    this.#keptMs = this.#ports.lease.now();
    return true;
  }

  /** Saves a place, however long NATS is away. Throws LeaseLostError. */
  async #save(place: SavedPlace): Promise<void> {
    await this.#ports.retry(async () => {
      await this.#lease.save(place);
      return {};
    }, isAway);
    this.#savedMs = this.#ports.lease.now();
  }

  /** Where NATS is away the next process waits until the lease has run out. */
  async #leave(): Promise<void> {
    await this.#lease.release({ position: this.#kept }).catch(() => undefined);
  }

  #logNotices(): void {
    const { counts, log } = this.#ports;
    for (const { text } of this.#feed.takeNotices()) {
      counts.gap();
      log('error', `events may be missing: ${text}`);
    }
    const { unreadable } = this.#feed;
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
