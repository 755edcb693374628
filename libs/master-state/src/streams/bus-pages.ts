import { type Bus, BusError } from '@brine/bus';
import { eventData } from '@brine/bus/event-data';
import { type BusEvent, Timeline, type TimelineOptions, type Wanted } from '@brine/bus/timeline';
import type { EventKind } from '@brine/job';
import {
  type EventPage,
  type EventPages,
  MasterUnavailableError,
  type PagedEvent,
  type PageQuestion,
} from '@brine/master';
import { compileGlob } from '@brine/target';
import { mapOf, pack, trimEvent, VALUE_TRIMMED, WireError } from '@brine/wire';

export interface BusPagesOptions {
  readonly bus: Bus;
  /** `max_event_size` in bytes. */
  readonly maxEventSize: number;
  /** The kinds of events that a glob of tags can match, and whether it can match events of jobs. */
  readonly narrow: (glob: string) => {
    readonly kinds: readonly EventKind[];
    readonly jobs: boolean;
  };
}

/** Limit of concurrent readers of one worker; each reads ahead of its page. */
const READERS_MAX = 32;
/** Messages of each stream that a page reads ahead; each may have 192 KiB. */
const READ_AHEAD = 32;
/** Size at which a page ends; one more event may follow. */
const PAGE_MAX_BYTES = 4 * 1024 * 1024;
/** Time after which a page ends without a wanted event, in ms. */
const SCAN_MS = 1_000;
/** Number of events that are taken at once. */
const TAKEN_AT_ONCE = 100;
/** Beyond this multiple of max_event_size nearly all of an event would be trimmed (libs/host). */
const FETCH_FACTOR = 8;

/** Errors of a body that can never be read. */
const GONE: ReadonlySet<string> = new Set([
  'BUS_BAD_MESSAGE',
  'BUS_BODY_GONE',
  'BUS_BODY_TOO_LARGE',
]);

/** Pages of the cluster's events. No state is kept between two pages: any worker gives the next. */
export class BusPages implements EventPages {
  readonly #options: BusPagesOptions;
  #open = 0;

  constructor(options: BusPagesOptions) {
    this.#options = options;
  }

  async page(question: PageQuestion): Promise<EventPage> {
    if (this.#open >= READERS_MAX) {
      throw new RangeError(`${READERS_MAX} commands read events just now: try again`);
    }
    this.#open += 1;
    try {
      return await this.#read(question);
    } catch (cause) {
      if (!(cause instanceof BusError)) throw cause;
      if (cause.code === 'BUS_BAD_MESSAGE') throw new RangeError(cause.message);
      throw new MasterUnavailableError(cause.message, { cause });
    } finally {
      this.#open -= 1;
    }
  }

  async #read(question: PageQuestion): Promise<EventPage> {
    const timeline = await Timeline.open(this.#options.bus, this.#optionsFor(question));
    try {
      const page = await this.#fill(timeline, question);
      const { unreadable } = timeline;
      const lost = unreadable === 0 ? [] : [`${unreadable} messages could not be read.`];
      const notices = [...timeline.takeNotices().map(({ text }) => text), ...lost];
      return { ...page, notices };
    } finally {
      timeline.close();
    }
  }

  async #fill(
    timeline: Timeline,
    { max, waitMs, toMs = Infinity }: PageQuestion,
  ): Promise<Omit<EventPage, 'notices'>> {
    const events: PagedEvent[] = [];
    const scanUntil = performance.now() + Math.max(SCAN_MS, waitMs);
    const waitUntil = performance.now() + waitMs;
    let [bytes, next, even] = [0, timeline.position, false];
    while (events.length < max && bytes < PAGE_MAX_BYTES) {
      const until = even ? (events.length === 0 ? waitUntil : 0) : scanUntil;
      const leftMs = until - performance.now();
      if (leftMs <= 0) break;
      const count = Math.min(TAKEN_AT_ONCE, max - events.length);
      for (const event of await timeline.take(count, leftMs, !even)) {
        if (bytes >= PAGE_MAX_BYTES) return { events, next, even: false, over: false };
        if (event.timeMs >= toMs) return { events, next, even: false, over: true };
        const read = await this.#bodyOf(event);
        events.push(pagedEvent(event, read));
        bytes += read.length;
        next = event.position;
      }
      next = timeline.position;
      even = timeline.isEven;
    }
    return { events, next, even, over: even && toMs <= Date.now() };
  }

  #optionsFor(question: PageQuestion): TimelineOptions {
    const { from, tag, kinds } = question;
    const narrowed = tag === undefined ? undefined : this.#options.narrow(tag);
    const wanted = kinds ?? narrowed?.kinds;
    const both = wanted?.filter((kind) => narrowed?.kinds.includes(kind) !== false);
    const jobs = (kinds === undefined || kinds.includes('job')) && narrowed?.jobs !== false;
    const common = { from, jobs, readAhead: READ_AHEAD };
    const fits = fitTest(question);
    if (both === undefined) return { ...common, fits };
    // Without any kind the reader would read all. Events of keys are few.
    if (both.length > 0) return { ...common, fits, kinds: both };
    return { ...common, kinds: ['key'], fits: (event) => event.kind === 'job' && fits(event) };
  }

  /** The packed map of an event; a stand-in if it is too large, deleted, or no map. */
  async #bodyOf({ size, body, jid, minion }: BusEvent): Promise<Uint8Array> {
    const { maxEventSize } = this.#options;
    const standIn = (): Uint8Array => pack(mapOf({ jid, id: minion, return: VALUE_TRIMMED }));
    if (maxEventSize > 0 && size > maxEventSize * FETCH_FACTOR) return standIn();
    try {
      return trimEvent(await body(), maxEventSize);
    } catch (error) {
      // Other errors may be an outage: the page is requested again.
      const isGone = error instanceof BusError && GONE.has(error.code);
      if (isGone || error instanceof WireError) return standIn();
      throw error;
    }
  }
}

function pagedEvent(
  { tag, kind, minion, timeMs, position }: BusEvent,
  body: Uint8Array,
): PagedEvent {
  const data = eventData(body, timeMs, kind);
  return { tag, kind, timeMs, position, data, ...(minion === undefined ? {} : { minion }) };
}

function fitTest({
  tag,
  minion,
  jid,
}: Pick<PageQuestion, 'tag' | 'minion' | 'jid'>): (event: Wanted) => boolean {
  const isTag = tag === undefined ? undefined : compileGlob(tag);
  const isMinion = minion === undefined ? undefined : compileGlob(minion);
  return (event) => {
    if (isTag !== undefined && !isTag(event.tag)) return false;
    if (isMinion !== undefined && (event.minion === undefined || !isMinion(event.minion))) {
      return false;
    }
    return jid === undefined || event.jid === jid || event.tag.split('/').includes(jid);
  };
}
