import { createHash } from 'node:crypto';
import type { SaltMap } from '@brine/wire';
import {
  appendField,
  mapOf,
  pack,
  scanMap,
  trimEvent,
  unpackMap,
  VALUE_TRIMMED,
  WireError,
} from '@brine/wire';
import { eventStamp } from '@brine/wire/frames';
import { JsonTranscoder, toJson } from '@brine/wire/text';

/** An event as the bus of the cluster has it. */
export interface FedEvent {
  readonly kind: string;
  readonly tag: string;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  /** When the stream stored it, in ms since 1970, with microseconds as its fraction. */
  readonly timeMs: number;
  /** Of the body as the stream has it, in bytes. */
  readonly size: number;
  /** A msgpack map. Rejects where it is gone, or can not be read now. */
  readonly body: () => Promise<Uint8Array>;
  /** Reading goes on after it from here. */
  readonly position: string;
}

/** An event as a returner gets it: what a listener at a stock master's event socket would see. */
export interface EventToReturn {
  readonly tag: string;
  /** When the stream stored it, in ms since 1970, with microseconds as its fraction. */
  readonly timeMs: number;
  /** A msgpack map with `_stamp`, its large values trimmed. */
  readonly data: Uint8Array;
  /** Reading goes on after it from here. */
  readonly position: string;
}

/**
 * A body is fetched up to this many times max_event_size: its largest values are trimmed then.
 * Beyond, nearly all of it would be trimmed, and it costs memory to fetch.
 */
const FETCH_FACTOR = 8;

/** Whether so large a body is fetched; a stand-in is returned for others. */
export function isFetched({ size }: Pick<FedEvent, 'size'>, maxEventSize: number): boolean {
  return maxEventSize <= 0 || size <= maxEventSize * FETCH_FACTOR;
}

/**
 * What a returner gets of an event. Without a body, because that is gone or far too large, a map
 * with the names of its job and minion stands for it.
 * @throws WireError for a body that is no map
 */
export function eventToReturn(
  event: FedEvent,
  body: Uint8Array | undefined,
  maxEventSize: number,
): EventToReturn {
  const { kind, tag, jid, minion: id, timeMs, position } = event;
  const scan = scanMap(body ?? pack(mapOf({ jid, id, return: VALUE_TRIMMED }), 'bin'));
  // Local tools stamp their events themselves.
  const isStamped = kind === 'local' && scan.has('_stamp');
  const stamped = isStamped ? scan.bytesIn : appendField(scan, '_stamp', eventStamp(timeMs, true));
  return { tag, timeMs, position, data: trimEvent(stamped, maxEventSize) };
}

/**
 * Names an event, the same at each try: it is made of what the event holds and when it was stored.
 * Positions do not, since the order of two streams may be another one at the next try.
 */
export function eventId({
  tag,
  timeMs,
  data,
}: Pick<EventToReturn, 'tag' | 'timeMs' | 'data'>): string {
  const hash = createHash('sha256').update(`${timeMs} ${tag}\0`).update(data);
  return hash.digest('base64url').slice(0, 32);
}

/** Whether an error says that a body is no event, for good. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof WireError;
}

const transcoder = new JsonTranscoder();

/** The data of an event as JSON, in the escape forms of the job cache where JSON lacks a value. */
export function dataJson({ data }: Pick<EventToReturn, 'data'>): string {
  return transcoder.read(data)?.json ?? toJson(unpackMap(data)).json;
}

/** Tag and data as one line of JSON, which stock Salt writes with `rawfile_json`. */
export function eventLine(event: Pick<EventToReturn, 'tag' | 'data'>): string {
  return `{"tag":${JSON.stringify(event.tag)},"data":${dataJson(event)}}\n`;
}

/** Tag and data as a map, which Salt's own returners get. */
export function eventMap({ tag, data }: Pick<EventToReturn, 'tag' | 'data'>): SaltMap {
  return mapOf({ tag, data: unpackMap(data) });
}
