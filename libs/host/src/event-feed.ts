import type { JobFiles } from '@brine/cachedir';
import type { StreamEvent } from '@brine/job';
import { isJid, isMinionId, jidTimeMs, parseTag } from '@brine/job';
import type { Trouble } from '@brine/tasks';
import { listOf, textOf, unpackMap, WireError } from '@brine/wire';
import { LRUCache } from 'lru-cache';
import { bornLoad } from './born-load.ts';
import type { Readers } from './readers.ts';
import { trimmedStandIn } from './readers.ts';

/** The parts of an {@link EventFeed}. */
export interface EventFeedParts {
  readonly readers: Readers;
  readonly files: JobFiles;
  /** `max_event_size` in bytes. */
  readonly maxEventSize: number;
  /** As `waitMs` of {@link WaitingReturnsOptions}. */
  readonly returnWaitMs?: number | undefined;
  /** Adds to the body of a local tool's event the parts that only readers may see; or undefined. */
  readonly open?: ((tag: string, body: Uint8Array) => Uint8Array | undefined) | undefined;
  readonly onTrouble: Trouble;
}

/** An event on its way to the readers. An undefined body is replaced by a stand-in. */
type EventOrStandIn = Pick<StreamEvent, 'kind' | 'tag' | 'body' | 'jid' | 'minion' | 'timeMs'>;

/**
 * A body that is stored elsewhere is fetched up to this many times max_event_size: its largest
 * values are trimmed then. A larger body would nearly all be trimmed, and fetching costs memory.
 */
const FETCH_FACTOR = 8;

/**
 * Sends the events of the stream to the readers, in order, except that a return waits for the `new`
 * event of its job.
 */
export class EventFeed {
  readonly #parts: EventFeedParts;
  readonly #returns: WaitingReturns<EventOrStandIn>;
  readonly #startedMs = Date.now();
  readonly #counts = { events: 0, standIns: 0, failed: 0 };

  constructor(parts: EventFeedParts) {
    this.#parts = parts;
    this.#returns = new WaitingReturns({
      release: (event) => this.#release(event),
      waitMs: parts.returnWaitMs,
    });
  }

  /** A job was announced: its returns may go out. */
  announced(jid: string): void {
    this.#returns.announced(jid);
  }

  /** Counts events that were skipped unread. */
  passed(count: number): void {
    this.#counts.events += count;
  }

  stats(): object {
    return { ...this.#counts, hold: this.#returns.stats() };
  }

  close(): void {
    this.#returns.close();
  }

  /** Handles one event; await a returned promise before the next event. */
  handle(event: StreamEvent): Promise<void> | undefined {
    this.#counts.events += 1;
    const jid = event.kind === 'ret' ? event.jid : undefined;
    const isWhole = event.body !== undefined && event.kind !== 'syndic';
    // Nearly all events: nothing to wait for.
    if (isWhole && jid === undefined) return void this.#send(event);
    if (isWhole && jid !== undefined && this.#returns.knows(jid)) {
      return void this.#returns.offer(jid, event);
    }
    return this.#prepare(event, jid);
  }

  async #prepare(event: StreamEvent, jid: string | undefined): Promise<void> {
    const whole = event.body === undefined ? await this.#fetched(event) : event;
    if (event.kind === 'syndic') await this.#saveSyndicMinions(whole);
    if (jid === undefined) return this.#send(whole);
    if (!this.#returns.knows(jid) && (await this.#isOlder(jid))) this.#returns.announced(jid);
    this.#returns.offer(jid, whole);
  }

  /** A job from before this process has files. */
  async #isOlder(jid: string): Promise<boolean> {
    if (!isJid(jid)) return false;
    return jidTimeMs(jid) < this.#startedMs && (await this.#parts.files.has(jid));
  }

  /** Fetches a body from elsewhere, while a reader is connected and it is not far too large. */
  async #fetched(event: StreamEvent): Promise<EventOrStandIn> {
    const { kind, tag, jid, minion, timeMs } = event;
    const isWanted = this.#parts.readers.count > 0;
    let body: Uint8Array | undefined;
    if (isWanted && event.size <= this.#parts.maxEventSize * FETCH_FACTOR) {
      try {
        body = await event.fetch();
      } catch (error) {
        this.#parts.onTrouble('a large event could not be fetched', error);
      }
    }
    if (body === undefined) this.#counts.standIns += 1;
    return { kind, tag, body, jid, minion, timeMs };
  }

  /** Sends waiting returns one after the other: a failing one must not stop the others. */
  #release(event: EventOrStandIn): void {
    try {
      this.#send(event);
    } catch (error) {
      this.#counts.failed += 1;
      this.#parts.onTrouble('an event could not be sent to the readers', error);
    }
  }

  #send({ kind, tag, body, jid, minion, timeMs }: EventOrStandIn): void {
    const { readers, open } = this.#parts;
    if (body !== undefined) {
      const isSealed = kind === 'local' && readers.count > 0 && open !== undefined;
      readers.fire({ kind, tag, body: (isSealed ? open(tag, body) : undefined) ?? body, timeMs });
    } else readers.fireMap(tag, trimmedStandIn({ jid, id: minion }), timeMs);
  }

  /**
   * Salt: salt/master.py AESFuncs._handle_minion_event saves the minions of a syndic's `new`. A job
   * of the lower master itself has no other announcement before its returns.
   */
  async #saveSyndicMinions({ tag, body }: EventOrStandIn): Promise<void> {
    const syndic = parseTag(tag);
    if (syndic.kind !== 'syndic' || body === undefined || !isMinionId(syndic.id)) return;
    const { id } = syndic;
    try {
      const data = unpackMap(body);
      const jid = textOf(data, 'jid');
      const minions = listOf(data, 'minions')?.filter((one) => typeof one === 'string');
      if (jid === undefined || minions === undefined || !isJid(jid)) return;
      const { files } = this.#parts;
      if (!this.#returns.knows(jid) && data.has('fun') && !(await files.has(jid))) {
        await files.writeBornJob({ jid, load: bornLoad(jid, id, data), minions: [] });
      }
      await files.writeSyndicMinions(jid, id, minions);
      await files.noteSyndic(id);
    } catch (error) {
      if (error instanceof WireError) return; // Not a map: the readers' count shows it.
      this.#parts.onTrouble("a syndic's minions could not be saved", error);
    }
  }
}

/** Options of {@link WaitingReturns}. */
export interface WaitingReturnsOptions<T> {
  /** Sends a return. */
  readonly release: (returned: T) => void;
  /** Longest wait, in ms: a 3007 CLI overlooks a return that comes before `new` for 5.5 s. */
  readonly waitMs?: number | undefined;
  /** Most waiting returns of all jobs; further ones are sent at once. */
  readonly maxWaiting?: number;
  /** Most jobs that are remembered as announced. */
  readonly maxKnown?: number;
}

/** The waiting returns of one job, and the end of their wait. */
interface WaitingJob<T> {
  readonly returns: T[];
  readonly timer: NodeJS.Timeout;
}

/**
 * Jobs and returns come from two streams, so a return can be here before its job. It waits until
 * the job was announced, or until time is up (jobs that a minion started itself never are).
 */
export class WaitingReturns<T> {
  readonly #release: (returned: T) => void;
  readonly #waitMs: number;
  readonly #maxWaiting: number;
  readonly #jobs = new Map<string, WaitingJob<T>>();
  readonly #known: LRUCache<string, true>;
  #waiting = 0;
  #counts = { held: 0, timedOut: 0, overflowed: 0 };

  constructor(options: WaitingReturnsOptions<T>) {
    const { release, waitMs = 1_000, maxWaiting = 10_000, maxKnown = 50_000 } = options;
    this.#release = release;
    this.#waitMs = waitMs;
    this.#maxWaiting = maxWaiting;
    // By size, each entry 1: `max` would allocate all entries at once.
    this.#known = new LRUCache({ maxSize: maxKnown, sizeCalculation: () => 1 });
  }

  /** True for a job that was announced, or whose wait is over. */
  knows(jid: string): boolean {
    return this.#known.has(jid);
  }

  stats(): {
    readonly waiting: number;
    readonly held: number;
    readonly timedOut: number;
    readonly overflowed: number;
  } {
    return { waiting: this.#waiting, ...this.#counts };
  }

  /** Sends the return at once if its job is known, else later; order within a job is kept. */
  offer(jid: string, returned: T): void {
    if (this.knows(jid)) {
      this.#release(returned);
      return;
    }
    if (this.#waiting >= this.#maxWaiting) {
      this.#counts.overflowed += 1;
      this.announced(jid);
      this.#release(returned);
      return;
    }
    this.#waiting += 1;
    this.#counts.held += 1;
    const job = this.#jobs.get(jid);
    if (job !== undefined) {
      job.returns.push(returned);
      return;
    }
    const timer = setTimeout(() => {
      this.#counts.timedOut += 1;
      this.announced(jid);
    }, this.#waitMs);
    this.#jobs.set(jid, { returns: [returned], timer });
  }

  /** The job was announced: its returns are sent, and later ones do not wait. */
  announced(jid: string): void {
    this.#known.set(jid, true);
    const job = this.#jobs.get(jid);
    if (job === undefined) return;
    clearTimeout(job.timer);
    this.#jobs.delete(jid);
    this.#waiting -= job.returns.length;
    for (const returned of job.returns) this.#release(returned);
  }

  /** Sends all waiting returns. */
  close(): void {
    for (const jid of [...this.#jobs.keys()]) this.announced(jid);
  }
}
