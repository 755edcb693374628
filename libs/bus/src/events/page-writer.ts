import { type Event, isJid, jobReturnTag, LARGE_RETURN_BYTES } from '@brine/job';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { VERSION_HEADER } from '../connection/message-version.ts';
import type { Appended } from '../streams/append.ts';
import { append, newMessageId } from '../streams/append.ts';
import { subjects } from '../subjects/names.ts';
import type { PagedReturn } from './page.ts';
import { PAGE_HEADER, PAGE_MAX_BYTES, PAGE_MAX_EVENTS, sizeInPage, writePage } from './page.ts';

/** The form of messages that a page is. */
const PAGE_VERSION = '2';

/** A return that waits for its page, or for the acknowledgement of it. */
interface Waiting {
  readonly event: Event;
  readonly paged: PagedReturn;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/** Options of a page writer. */
export interface PageWriting {
  readonly bus: Bus;
  /** How long to try an append while the stream is unreachable, in ms. */
  readonly timeoutMs: number;
  /** Appends one event as a message of its own. */
  readonly appendOne: (event: Event) => Promise<Appended>;
}

/**
 * Appends returns to EVENTS, several in one message. Returns that come while a page is in flight
 * make the next one, so pages grow with the load and no return waits for others. A page of one
 * return is written as a message of one event.
 */
export class PageWriter {
  readonly #writing: PageWriting;
  #waiting: Waiting[] = [];
  /** Tags of the waiting returns: a page has a tag once, so that its position names one event. */
  #tags = new Set<string>();
  #bytes = 0;
  #inFlight = 0;
  #isDue = false;

  constructor(writing: PageWriting) {
    this.#writing = writing;
  }

  /** Stores a return. Rejects as `EventWriter.append` does. */
  append(event: Event, paged: PagedReturn, bytes: number): Promise<Appended> {
    return new Promise((resolve, reject) => {
      const isFull =
        this.#waiting.length >= PAGE_MAX_EVENTS || this.#bytes + bytes > PAGE_MAX_BYTES;
      if (isFull || this.#tags.has(event.tag)) this.#send();
      this.#waiting.push({ event, paged, resolve, reject });
      this.#tags.add(event.tag);
      this.#bytes += bytes;
      if (this.#inFlight > 0 || this.#isDue) return;
      this.#isDue = true;
      setImmediate(() => {
        this.#isDue = false;
        this.#send();
      });
    });
  }

  #send(): void {
    const waiting = this.#waiting;
    const bytes = this.#bytes;
    if (waiting.length === 0) return;
    this.#waiting = [];
    this.#tags = new Set();
    this.#bytes = 0;
    this.#inFlight += 1;
    void this.#append(waiting, bytes).finally(() => {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#send();
    });
  }

  async #append(waiting: readonly Waiting[], bytes: number): Promise<void> {
    const [first] = waiting;
    if (waiting.length === 1 && first !== undefined) return this.#appendOne(first);
    const { bus, timeoutMs } = this.#writing;
    const payload = writePage(
      waiting.map(({ paged }) => paged),
      bytes,
    );
    const headers = { [PAGE_HEADER]: String(waiting.length), [VERSION_HEADER]: PAGE_VERSION };
    const subject = subjects.event('ret');
    const msgId = newMessageId();
    try {
      const appended = await append(bus, { subject, payload, headers, timeoutMs, msgId });
      for (const { resolve } of waiting) resolve(appended);
    } catch (error) {
      // If a page finds no room, some of its returns may.
      const isFull = error instanceof BusError && error.code === 'BUS_STREAM_FULL';
      if (isFull) await Promise.all(waiting.map((one) => this.#appendOne(one)));
      else for (const { reject } of waiting) reject(error);
    }
  }

  async #appendOne({ event, resolve, reject }: Waiting): Promise<void> {
    try {
      resolve(await this.#writing.appendOne(event));
    } catch (error) {
      reject(error);
    }
  }
}

/**
 * The event as an entry of a page. Undefined for an event that needs a message of its own: it is
 * not a return of a job, is large, or has an id by which the stream stores it once.
 */
export function pagedReturn({
  kind,
  tag,
  jid,
  minion,
  link,
  traced = false,
  body,
  msgId,
}: Event): { readonly paged: PagedReturn; readonly bytes: number } | undefined {
  if (kind !== 'ret' || msgId !== undefined || body.length > LARGE_RETURN_BYTES) return undefined;
  if (!isJid(jid) || minion === undefined || tag !== jobReturnTag(jid, minion)) return undefined;
  const paged = { jid, minion, link, traced, body };
  const bytes = sizeInPage(paged);
  return bytes === undefined ? undefined : { paged, bytes };
}
