import { mayRead } from '@brine/acl';
import { type Bus, BusError } from '@brine/bus';
import { type BusEvent, eventAt, Timeline, type TimelineSide } from '@brine/bus/timeline';
import type { EventKind } from '@brine/job';
import type { ApiCaller } from '../sessions/callers.ts';
import { largeText, SHOWN_MAX_BYTES, shownText } from './event-text.ts';
import { type LiveEvent, ReadEvent } from './live-events.ts';
import type { OwnJobs } from './own-jobs.ts';
import { type Principals, readableOf } from './sight.ts';

/** Where a search begins. */
export type SearchFrom =
  'now' | 'oldest' | { readonly position: string } | { readonly timeMs: number };

/** Which events are searched. */
export interface EventQuestion {
  readonly from: SearchFrom;
  /** Events before this time, unix ms. */
  readonly toMs: number | undefined;
  readonly kind: EventKind | undefined;
  readonly fits: (event: Pick<BusEvent, 'tag' | 'kind' | 'jid' | 'minion'>) => boolean;
  readonly max: number;
}

/** Events that were found. */
export interface FoundEvents {
  /** The JSON of each. */
  readonly texts: readonly string[];
  /** All events up to here were looked at. */
  readonly position: string;
  /** True if no more events come: of the streams, or before the end of the question. */
  readonly isOver: boolean;
  /** Sentences about events that may be missing. */
  readonly notices: readonly string[];
}

/** Who asks. */
export interface Asker {
  readonly caller: ApiCaller;
  readonly peer: string;
}

/** Thrown for a position whose events are not kept any more. */
export class GoneError extends Error {
  override readonly name = 'GoneError';
}

/** Limits of the work of one request: events it looks at, time in ms, and bytes that it reads. */
const LOOKED_MAX = 20_000;
const SEARCH_MS = 2_000;
const READ_MAX_BYTES = 16 * 1024 * 1024;
/** Events that are taken at once, and judged at once: one question about their jobs. */
const TAKEN_AT_ONCE = 256;
/** Messages of each stream that are read ahead; each may have 192 KiB. */
const READ_AHEAD = 32;

const NOT_ASKED =
  'The job cache did not answer about older jobs: events of your own ones may be missing.';

/** Searches the events that the streams have, as far as one request may. */
export class EventSearch {
  readonly #bus: Bus;
  readonly #principals: Principals;
  readonly #own: OwnJobs;

  constructor(bus: Bus, principals: Principals, own: OwnJobs) {
    this.#bus = bus;
    this.#principals = principals;
    this.#own = own;
  }

  /**
   * A page of the events that the caller may read.
   * @throws GoneError, BusError
   */
  async page(question: EventQuestion, asker: Asker): Promise<FoundEvents> {
    const { from, kind } = question;
    const timeline = await Timeline.open(this.#bus, {
      from,
      readAhead: READ_AHEAD,
      jobs: true,
      ...(kind === undefined ? {} : { kinds: [kind] }),
    });
    try {
      const found = await new Page(timeline, question, {
        judge: this.#judge(asker),
        seesAll: asker.caller.reader.acl === undefined,
      }).fill();
      const notices = timeline.takeNotices().map(({ text }) => text);
      if (typeof from === 'object' && 'position' in from && notices.length > 0) {
        throw new GoneError(notices[0]);
      }
      return { ...found, notices: [...notices, ...found.notices] };
    } finally {
      timeline.close();
    }
  }

  /**
   * One event with its body; undefined if the caller may not read it, or it is not kept.
   * @throws BusError
   */
  async one(
    position: string,
    side: TimelineSide,
    { asker, maxBytes }: { readonly asker: Asker; readonly maxBytes: number },
  ): Promise<LiveEvent | 'too-large' | undefined> {
    const event = await eventAt(this.#bus, position, side);
    if (event === undefined) return undefined;
    if (event.size > maxBytes) return 'too-large';
    const read = new ReadEvent(event, await event.body());
    const { seen } = await this.#judge(asker)([read]);
    return seen[0];
  }

  #judge({ caller, peer }: Asker): Judge {
    return async (events) => {
      const { reader } = caller;
      for (const event of events) this.#principals.note(event);
      if (reader.acl === undefined) return { seen: events, isSure: true };
      const isSure = await this.#own.learn(caller, peer, events);
      const seen = events.filter(({ tag, data }) =>
        mayRead(reader, readableOf(tag, data, this.#principals)),
      );
      return { seen, isSure };
    };
  }
}

/** Gives those events that the caller may read; not sure if the job cache was not asked. */
type Judge = (
  events: readonly LiveEvent[],
) => Promise<{ readonly seen: readonly LiveEvent[]; readonly isSure: boolean }>;

interface Judging {
  readonly judge: Judge;
  readonly seesAll: boolean;
}

/** An event that fits, as it was read, or as it is shown without. */
interface FoundEvent {
  readonly event: BusEvent;
  readonly read?: ReadEvent;
  readonly text?: string;
}

/** Errors of a body that can never be read. */
const GONE: ReadonlySet<string> = new Set([
  'BUS_BAD_MESSAGE',
  'BUS_BODY_GONE',
  'BUS_BODY_TOO_LARGE',
]);

/** A page while it is filled. */
class Page {
  readonly #timeline: Timeline;
  readonly #question: EventQuestion;
  readonly #judge: Judge;
  readonly #texts: string[] = [];
  #position: string;
  #read = 0;
  #gone = 0;
  #isSure = true;
  readonly #seesAll: boolean;

  constructor(timeline: Timeline, question: EventQuestion, judging: Judging) {
    const { judge, seesAll } = judging;
    this.#timeline = timeline;
    this.#seesAll = seesAll;
    this.#question = question;
    this.#judge = judge;
    this.#position = timeline.position;
  }

  async fill(): Promise<FoundEvents> {
    const until = performance.now() + SEARCH_MS;
    let looked = 0;
    for (;;) {
      const leftMs = until - performance.now();
      const isFull = this.#texts.length >= this.#question.max || this.#read >= READ_MAX_BYTES;
      if (isFull || leftMs <= 0 || looked >= LOOKED_MAX) return this.#found(false);
      const taken = await this.#timeline.take(TAKEN_AT_ONCE, leftMs, true);
      looked += taken.length;
      const outcome = await this.#add(taken);
      if (outcome !== 'all') return this.#found(outcome === 'over');
      this.#position = this.#timeline.position;
      if (this.#timeline.isEven) return this.#found(true);
    }
  }

  /** Adds those that fit; `full`: it stopped before the last one, `over`: the end was reached. */
  async #add(taken: readonly BusEvent[]): Promise<'all' | 'full' | 'over'> {
    const { toMs = Infinity, max, fits } = this.#question;
    const end = taken.findIndex(({ timeMs }) => timeMs >= toMs);
    const asked = end < 0 ? taken : taken.slice(0, end);
    const fitting = asked.filter(fits);
    const found: FoundEvent[] = [];
    for (const event of fitting) {
      if (this.#read >= READ_MAX_BYTES) break;
      found.push(await this.#readOne(event));
    }
    const reads = found.flatMap(({ read }) => (read === undefined ? [] : [read]));
    const { seen, isSure } = await this.#judge(reads);
    this.#isSure &&= isSure;
    const shown = new Set(seen);
    for (const { event, read, text } of found) {
      if (read !== undefined && shown.has(read)) this.#texts.push(shownText(read));
      else if (text !== undefined) this.#texts.push(text);
      this.#position = event.position;
      if (this.#texts.length >= max) return 'full';
    }
    if (found.length < fitting.length) return 'full';
    this.#position = asked.at(-1)?.position ?? this.#position;
    return end < 0 ? 'all' : 'over';
  }

  async #readOne(event: BusEvent): Promise<FoundEvent> {
    const { size } = event;
    // It is shown without its body, which nothing has to be judged by.
    if (this.#seesAll && size > SHOWN_MAX_BYTES) return { event, text: largeText(event, size) };
    if (size > READ_MAX_BYTES) return this.#unreadable(event);
    try {
      const read = new ReadEvent(event, await event.body());
      this.#read += read.packed.length;
      return { event, read };
    } catch (error) {
      // Other errors may be an outage: the page is asked for again.
      if (!(error instanceof BusError) || !GONE.has(error.code)) throw error;
      return this.#unreadable(event);
    }
  }

  #unreadable(event: BusEvent): FoundEvent {
    this.#gone += 1;
    return { event };
  }

  #found(isOver: boolean): FoundEvents {
    const gone = this.#gone === 0 ? [] : [`${this.#gone} events have data that can not be read.`];
    const notices = [...gone, ...(this.#isSure ? [] : [NOT_ASKED])];
    return { texts: this.#texts, position: this.#position, isOver, notices };
  }
}
