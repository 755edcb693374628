import type { JobFiles } from '@brine/cachedir';
import { isJid, isMinionId, jidTimeMs, parseTag } from '@brine/job';
import { listOf, textOf, unpackMap, WireError } from '@brine/wire';
import type { Readers } from '../sockets/readers.ts';
import { trimmedStandIn } from '../sockets/readers.ts';
import { bornLoad } from './born-load.ts';
import { ReturnHold } from './return-hold.ts';

/** An event of the stream. */
export interface EventOfStream {
  readonly kind: string;
  readonly tag: string;
  readonly inline: Uint8Array | undefined;
  readonly size: number;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  readonly timeMs: number;
  body(): Promise<Uint8Array>;
}

/** What {@link EventFeed} works with. */
export interface EventFeedParts {
  readonly readers: Readers;
  readonly files: JobFiles;
  /** `max_event_size` in bytes. */
  readonly maxEventSize: number;
  readonly onTrouble: (text: string, error: unknown) => void;
}

/**
 * A body that is stored elsewhere is fetched up to this many times max_event_size: its largest
 * values are trimmed then. Beyond, nearly all of it would be trimmed, and it costs memory to fetch.
 */
const FETCH_FACTOR = 8;

/**
 * Brings the events of the stream to the readers, in order, except that no return comes too soon.
 */
export class EventFeed {
  readonly #parts: EventFeedParts;
  readonly #hold: ReturnHold<EventOfStream>;
  readonly #startedMs = Date.now();
  readonly #counts = { events: 0, standIns: 0, failed: 0 };

  constructor(parts: EventFeedParts) {
    this.#parts = parts;
    this.#hold = new ReturnHold<EventOfStream>({ release: (event) => this.#release(event) });
  }

  /** A job was announced: its returns may go out. */
  announced(jid: string): void {
    this.#hold.announced(jid);
  }

  stats(): object {
    return { ...this.#counts, hold: this.#hold.stats() };
  }

  close(): void {
    this.#hold.close();
  }

  /** Handles one event; a promise is to be awaited before the next may come. */
  handle(event: EventOfStream): Promise<void> | undefined {
    this.#counts.events += 1;
    const jid = event.kind === 'ret' ? event.jid : undefined;
    const isWhole = event.inline !== undefined && event.kind !== 'syndic';
    // Nearly all events: nothing to wait for.
    if (isWhole && jid === undefined) return void this.#send(event);
    if (isWhole && jid !== undefined && this.#hold.knows(jid)) {
      return void this.#hold.offer(jid, event);
    }
    return this.#prepare(event, jid);
  }

  async #prepare(event: EventOfStream, jid: string | undefined): Promise<void> {
    const inline = event.inline === undefined ? await this.#fetched(event) : event;
    if (event.kind === 'syndic') await this.#saveSyndicMinions(inline);
    if (jid === undefined) return this.#send(inline);
    if (!this.#hold.knows(jid) && (await this.#isOlder(jid))) this.#hold.announced(jid);
    this.#hold.offer(jid, inline);
  }

  /** A job from before this process is known by its files. */
  async #isOlder(jid: string): Promise<boolean> {
    if (!isJid(jid)) return false;
    return jidTimeMs(jid) < this.#startedMs && (await this.#parts.files.has(jid));
  }

  /** Fetches a body that is elsewhere while anybody could read it; else a stand-in. */
  async #fetched(event: EventOfStream): Promise<EventOfStream> {
    const wanted = this.#parts.readers.count > 0;
    if (wanted && event.size <= this.#parts.maxEventSize * FETCH_FACTOR) {
      try {
        return { ...plain(event), inline: await event.body() };
      } catch (error) {
        this.#parts.onTrouble('a large event could not be fetched', error);
      }
    }
    this.#counts.standIns += 1;
    return plain(event);
  }

  /** What waited goes out one after the other, some of it by a timer: none may stop the others. */
  #release(event: EventOfStream): void {
    try {
      this.#send(event);
    } catch (error) {
      this.#counts.failed += 1;
      this.#parts.onTrouble('an event could not be told to the readers', error);
    }
  }

  #send(event: EventOfStream): void {
    const { tag, timeMs, inline } = event;
    const { readers } = this.#parts;
    if (inline !== undefined) {
      readers.fire({ tag, data: inline, timeMs, stamped: event.kind === 'local' });
      return;
    }
    readers.fireMap(tag, trimmedStandIn({ jid: event.jid, id: event.minion }), timeMs);
  }

  /**
   * Salt: salt/master.py AESFuncs._handle_minion_event saves what a syndic's `new` expects. It may
   * be a job of the lower master's own: then this is all that is told of it before its returns.
   */
  async #saveSyndicMinions(event: EventOfStream): Promise<void> {
    const tag = parseTag(event.tag);
    if (tag.kind !== 'syndic' || event.inline === undefined || !isMinionId(tag.id)) return;
    try {
      const data = unpackMap(event.inline);
      const jid = textOf(data, 'jid');
      const minions = listOf(data, 'minions')?.filter((id) => typeof id === 'string');
      if (jid === undefined || minions === undefined || !isJid(jid)) return;
      const { files } = this.#parts;
      if (!this.#hold.knows(jid) && data.has('fun') && !(await files.has(jid))) {
        await files.writeBornJob({ jid, load: bornLoad(jid, tag.id, data), minions: [] });
      }
      await files.writeSyndicMinions(jid, tag.id, minions);
      await files.noteSyndic(tag.id);
    } catch (error) {
      if (error instanceof WireError) return; // Not a map: the readers' count shows it.
      this.#parts.onTrouble("a syndic's minions could not be saved", error);
    }
  }
}

/** Without the bytes of the stream's message: held events must not keep its buffer. */
function plain(event: EventOfStream): EventOfStream {
  const { kind, tag, inline, size, jid, minion, timeMs } = event;
  return { kind, tag, inline, size, jid, minion, timeMs, body: () => event.body() };
}
