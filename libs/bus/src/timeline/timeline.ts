import { EVENT_KINDS, type EventKind, INNER_KINDS } from '@brine/job';
import { Wakeup } from '@brine/tasks';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { streamInfo } from '../connection/js-api.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { markOf, printPosition } from './position.ts';
import { readEventMessage, readJobMessage, type Wanted } from './read-message.ts';
import { Side, type SideEvent, type Step } from './side.ts';
import { findStart, type Notice, overtakenNotice, type Start, type TimelineFrom } from './start.ts';

/** One of the two streams of the bus. */
export type TimelineSide = 'events' | 'publications';

/** An event of the bus of the whole cluster. */
export interface BusEvent extends SideEvent {
  /** When the stream stored it, in ms since 1970, with microseconds as its fraction. */
  readonly timeMs: number;
  /** Reading resumes after this event from here, at any later time. */
  readonly position: string;
  /** The stream that has it. */
  readonly side: TimelineSide;
}

/** Which events to read, and from where. */
export interface TimelineOptions {
  readonly from: TimelineFrom;
  /** Only these kinds; default all that readers of a host's sockets get. */
  readonly kinds?: readonly EventKind[];
  /** Whether to include the events `new` and `publish` of jobs; default with the kind `job`. */
  readonly jobs?: boolean;
  /** Only events for which this returns true. It is called before a body is read. */
  readonly fits?: (event: Wanted) => boolean;
  /**
   * Messages of each stream that may be here and are not taken; default 64. A message may be a page
   * of 255 events.
   */
  readonly readAhead?: number;
}

/** The kinds that make the bus of the cluster. */
export const BUS_KINDS: readonly EventKind[] = EVENT_KINDS.filter((kind) => !INNER_KINDS.has(kind));

/**
 * How long the first return of a job waits for the job, in ms. The job was stored earlier and comes
 * through the other stream. Once both streams are read to their ends nothing else orders them.
 */
const WAIT_MS = 60;
/** Jobs that are remembered, so that their further returns need not wait. */
const JOBS_KNOWN = 10_000;
/** A job from before an event has arrived by then; clocks may differ by about a second. */
const OLD_MS = 2_000;
/** The default: enough for a server that is 1 ms away, and a few MiB of full pages. */
const READ_AHEAD = 64;
/** How often a stream is checked for its end, in ms. */
const LOOK_MS = 10;
/** How often a lagging reader checks if trimming has overtaken it, in ms. */
const CHECK_MS = 1_000;

const RESTORED: Notice = {
  kind: 'restored',
  text: 'A stream of events was restored from a copy; it is read from its beginning.',
};

/**
 * The bus of the cluster, in the order of the servers' times: all events, and the events `new` and
 * `publish` of each job. It begins anywhere in what the streams still have and continues with new
 * events, over reconnects and restarts of the servers. No event is left out and none comes twice,
 * also if another reader resumes from a position of this one.
 */
export class Timeline {
  readonly #bus: Bus;
  readonly #events: Side;
  readonly #publications: Side | undefined;
  readonly #notices: Notice[];
  readonly #seen: { events: string; publications: string };
  #mark: string;
  #places: Start['places'];
  #unreadable = 0;
  #isClosed = false;
  #checkedAt = -Infinity;
  readonly #jobs = new Set<string>();
  readonly #news = new Wakeup();

  private constructor(bus: Bus, options: TimelineOptions, start: Start) {
    this.#bus = bus;
    this.#places = start.places;
    this.#notices = [...start.notices];
    this.#seen = { ...start.incarnations };
    this.#mark = markOf(this.#seen);
    const { kinds = BUS_KINDS, fits = () => true, readAhead = READ_AHEAD } = options;
    const { jobs = kinds.includes('job') } = options;
    const common = {
      onUnreadable: () => {
        this.#unreadable += 1;
      },
      onNews: () => this.#news.wake(),
    };
    const { events, publications } = start.places;
    const { incarnations } = start;
    this.#events = new Side({
      ...common,
      reader: new StreamReader(bus, {
        stream: STREAMS.events,
        readAhead,
        from: { seq: firstToRead(events), incarnation: incarnations.events },
        filterSubjects: kinds.map((kind) => subjects.event(kind)),
      }),
      after: events,
      read: (received) => readEventMessage(bus, received, fits),
    });
    if (!jobs) return;
    this.#publications = new Side({
      ...common,
      reader: new StreamReader(bus, {
        stream: STREAMS.publications,
        readAhead,
        from: { seq: firstToRead(publications), incarnation: incarnations.publications },
        filterSubjects: [subjects.publication('job')],
      }),
      after: publications,
      read: (received) => readJobMessage(bus, received, fits),
    });
  }

  /**
   * Begins to read.
   * @throws BusError `BUS_STREAM_AWAY` if there are no streams, `BUS_BAD_MESSAGE` for an invalid
   *   position, and as `Inbox.request` does
   */
  static async open(bus: Bus, options: TimelineOptions): Promise<Timeline> {
    return new Timeline(bus, options, await findStart(bus, options.from));
  }

  /** Reading resumes from here: everything before it was taken or skipped. */
  get position(): string {
    return printPosition({ ...this.#places, mark: this.#mark });
  }

  /** Messages that were skipped because they can never be read. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** True if all events that the streams have now were taken. */
  get isEven(): boolean {
    return this.#events.isEven && this.#publications?.isEven !== false;
  }

  /** Notices about events that the reader does not get. Each is given once. */
  takeNotices(): readonly Notice[] {
    return this.#notices.splice(0);
  }

  /**
   * Takes the events that are here, up to `max`. Waits for the first one up to `waitMs`. With
   * `untilEven` it waits at most until the end of the streams; the result may then be empty.
   * @throws BusError `BUS_CLOSED`, `BUS_FORBIDDEN`
   */
  async take(max: number, waitMs: number, untilEven = false): Promise<readonly BusEvent[]> {
    const until = performance.now() + waitMs;
    const taken: BusEvent[] = [];
    while (taken.length < max) {
      const next = this.#next();
      if (typeof next === 'object') {
        const event = this.#pass(next);
        if (event !== undefined) taken.push(event);
        continue;
      }
      const leftMs = until - performance.now();
      const isEnd = untilEven && this.isEven;
      if (taken.length > 0 || isEnd || leftMs <= 0) break;
      this.#throwIfOver();
      await this.#news.wait(Math.min(next, leftMs));
    }
    await this.#lookForTrims();
    return taken;
  }

  /** All events from the start on, until closed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<BusEvent, void> {
    while (!this.#isClosed) {
      try {
        yield* await this.take(TAKEN_AT_ONCE, LOOP_MS);
      } catch (error) {
        if (this.#isClosed) return;
        throw error;
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#events.close();
    this.#publications?.close();
    this.#news.wake();
  }

  /** The next step by the servers' times, or how long to wait for news of it, in ms. */
  #next(): { readonly side: 'events' | 'publications'; readonly step: Step } | number {
    const event = this.#events.head;
    const job = this.#publications?.head;
    if (job !== undefined && (event === undefined ? this.#events.isEven : isBefore(job, event))) {
      return { side: 'publications', step: job };
    }
    if (event === undefined) return this.isEven ? Infinity : LOOK_MS;
    const mayGo = job !== undefined || this.#publications === undefined;
    if (mayGo) return { side: 'events', step: event };
    if (this.#publications?.isEven !== true) return LOOK_MS;
    const leftMs = this.#waits(event) ? WAIT_MS - (performance.now() - event.cameAt) : 0;
    return leftMs <= 0 ? { side: 'events', step: event } : leftMs;
  }

  /** True if a job of the other stream may still come that belongs before this event. */
  #waits({ event, timeUs }: Step): boolean {
    if (event?.kind !== 'ret' || event.jid === undefined || this.#jobs.has(event.jid)) return false;
    return Date.now() - timeUs / 1_000 <= OLD_MS;
  }

  #noteJob(jid: string): void {
    this.#jobs.add(jid);
    if (this.#jobs.size <= JOBS_KNOWN) return;
    for (const oldest of this.#jobs) {
      this.#jobs.delete(oldest);
      return;
    }
  }

  #pass({ side, step }: { side: 'events' | 'publications'; step: Step }): BusEvent | undefined {
    const { place, incarnation, event, timeUs } = step;
    if (this.#seen[side] !== incarnation) this.#remade(side, incarnation);
    else if (place.seq < this.#places[side].seq) this.#notices.push(RESTORED);
    (side === 'events' ? this.#events : this.#publications)?.take();
    this.#places = { ...this.#places, [side]: place };
    if (event?.jid !== undefined) this.#noteJob(event.jid);
    return event && { ...event, timeMs: timeUs / 1_000, position: this.position, side };
  }

  /** A stream was recreated while it was read. */
  #remade(side: 'events' | 'publications', incarnation: string): void {
    this.#seen[side] = incarnation;
    this.#mark = markOf(this.#seen);
    this.#notices.push({
      kind: 'remade',
      text: 'A stream of events was recreated: its earlier events are lost.',
    });
  }

  /** Trimming of a filling stream may overtake a lagging reader. */
  async #lookForTrims(): Promise<void> {
    const sides = [
      [STREAMS.events, this.#events],
      [STREAMS.publications, this.#publications],
    ] as const;
    const now = performance.now();
    if (sides.every(([, side]) => side?.jump === undefined)) return;
    if (now - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = now;
    for (const [stream, side] of sides) {
      if (side?.jump === undefined) continue;
      // Keep taken events even if the server can not be asked; it is asked later.
      const info = await streamInfo(this.#bus, stream).catch(() => undefined);
      const jump = info && side.takeJump();
      const first = Math.min(info?.firstSeq ?? 0, jump?.to ?? 0);
      const missed = first - (jump?.from ?? first);
      if (missed > 0) this.#notices.push(overtakenNotice(missed));
    }
  }

  #throwIfOver(): void {
    const failure = this.#events.failure ?? this.#publications?.failure;
    if (failure !== undefined) throw failure;
    const isOver = this.#isClosed || this.#events.isClosed || this.#publications?.isClosed === true;
    if (isOver) throw new BusError('BUS_CLOSED', 'the reading of events has ended');
  }
}

/** Events of one turn of a reader that iterates, and how long it waits for the first. */
const TAKEN_AT_ONCE = 256;
const LOOP_MS = 1_000;

/** A job goes before an event of the same time: that event may be its return. */
function isBefore(job: Step, event: Step): boolean {
  return job.timeUs <= event.timeUs;
}

function firstToRead({ seq, index }: { readonly seq: number; readonly index?: number }): number {
  return Math.max(1, index === undefined ? seq + 1 : seq);
}
