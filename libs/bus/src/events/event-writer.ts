import type { Event, EventKind } from '@brine/job';
import { parseTag } from '@brine/job';
import type { Bus } from '../connection/connect.ts';
import { MESSAGE_VERSION, VERSION_HEADER } from '../connection/message-version.ts';
import type { Appended } from '../streams/append.ts';
import { append, newMessageId } from '../streams/append.ts';
import { INLINE_MAX_BYTES, putBody } from '../streams/bodies.ts';
import { escapeHeader } from '../subjects/escape.ts';
import { subjects } from '../subjects/names.ts';
import { pagedReturn, PageWriter } from './page-writer.ts';

/**
 * The headers of an event in the stream. The tag is one, so that readers match it without decoding
 * the body. A return's job and minion are in its tag and need no headers.
 */
export const EVENT_HEADERS = {
  tag: 'Brine-Tag',
  jid: 'Brine-Jid',
  minion: 'Brine-Minion',
  engine: 'Brine-Engine',
  link: 'Brine-Link',
  traced: 'Brine-Traced',
  proof: 'Brine-Proof',
  reference: 'Brine-Body',
} as const;

/** Appends events to EVENTS and waits for the stream's acknowledgement. */
export class EventWriter {
  readonly #bus: Bus;
  readonly #timeoutMs: number;
  readonly #pages: PageWriter;

  /** `timeoutMs`: how long to try an append while the stream is unreachable; default 4,000. */
  constructor(bus: Bus, options: { readonly timeoutMs?: number } = {}) {
    this.#bus = bus;
    this.#timeoutMs = options.timeoutMs ?? 4_000;
    this.#pages = new PageWriter({
      bus,
      timeoutMs: this.#timeoutMs,
      appendOne: (event) => this.#appendOne(event),
    });
  }

  /**
   * Stores one event; returns of jobs share messages. A body above 256 KB is stored before it, in
   * the object store, and the message names it.
   * @throws BusError `BUS_STREAM_AWAY`, `BUS_STREAM_FULL`, `BUS_FORBIDDEN`, `BUS_REFUSED`.
   */
  append(event: Event): Promise<Appended> {
    const inPage = pagedReturn(event);
    if (inPage === undefined) return this.#appendOne(event);
    return this.#pages.append(event, inPage.paged, inPage.bytes);
  }

  async #appendOne(event: Event): Promise<Appended> {
    const headers = headersOf(event);
    let payload = event.body;
    if (payload.length > INLINE_MAX_BYTES) {
      headers[EVENT_HEADERS.reference] = await putBody(this.#bus, 'evt', payload);
      payload = new Uint8Array(0);
    }
    return append(this.#bus, {
      subject: subjects.event(event.kind),
      payload,
      headers,
      timeoutMs: this.#timeoutMs,
      msgId: event.msgId === undefined ? newMessageId() : escapeHeader(event.msgId),
    });
  }
}

function headersOf(event: Event): Record<string, string> {
  const { kind, tag, jid, minion, engine, link, traced, proof } = event;
  const headers: Record<string, string> = { [EVENT_HEADERS.tag]: escapeHeader(tag) };
  const inTag = returnOf(kind, tag);
  if (inTag === undefined || inTag.jid !== jid || inTag.id !== minion) {
    if (jid !== undefined) headers[EVENT_HEADERS.jid] = escapeHeader(jid);
    if (minion !== undefined) headers[EVENT_HEADERS.minion] = escapeHeader(minion);
  }
  if (engine !== undefined) headers[EVENT_HEADERS.engine] = escapeHeader(engine);
  if (link !== undefined) headers[EVENT_HEADERS.link] = escapeHeader(link);
  if (proof !== undefined) headers[EVENT_HEADERS.proof] = escapeHeader(proof);
  if (traced === true) headers[EVENT_HEADERS.traced] = '1';
  // A message of version 1 carries no version: the header would be in every return.
  if (MESSAGE_VERSION > 1) headers[VERSION_HEADER] = String(MESSAGE_VERSION);
  return headers;
}

/** The job and the minion that the tag of a return names, where it is of that form. */
export function returnOf(
  kind: EventKind,
  tag: string,
): { readonly jid: string; readonly id: string } | undefined {
  const parsed = kind === 'ret' || kind === 'run' ? parseTag(tag) : undefined;
  return parsed?.kind === 'job-return' ? parsed : undefined;
}
