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
  /** Time of storage in the stream, in ms since 1970, with microseconds as its fraction. */
  readonly timeMs: number;
  /** Size of the body in the stream, in bytes. */
  readonly size: number;
  /** A msgpack map. Rejects if it is deleted, or can not be read now. */
  readonly body: () => Promise<Uint8Array>;
  /** Reading resumes here after this event. */
  readonly position: string;
}

/** An event for a returner: the same as a listener at a stock master's event socket receives. */
export interface EventToReturn {
  readonly tag: string;
  /** Time of storage in the stream, in ms since 1970, with microseconds as its fraction. */
  readonly timeMs: number;
  /** A msgpack map with `_stamp`; its large values are trimmed. */
  readonly data: Uint8Array;
  /** Reading resumes here after this event. */
  readonly position: string;
}

/**
 * Limit of a fetched body, as a multiple of max_event_size; its largest values are trimmed. Nearly
 * all of a larger body would be trimmed, and fetching it costs memory.
 */
const FETCH_FACTOR = 8;

/** True if a body of this size is fetched; larger ones are replaced by a stand-in. */
export function isFetched({ size }: Pick<FedEvent, 'size'>, maxEventSize: number): boolean {
  return maxEventSize <= 0 || size <= maxEventSize * FETCH_FACTOR;
}

/**
 * Makes the event that a returner gets. Without a body (deleted or far too large) it is a map with
 * the names of its job and minion.
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
 * Makes an id of an event that is the same at each try, from its contents and its time of storage.
 * Positions can not be used: the order of two streams may differ at the next try.
 */
export function eventId({
  tag,
  timeMs,
  data,
}: Pick<EventToReturn, 'tag' | 'timeMs' | 'data'>): string {
  const hash = createHash('sha256').update(`${timeMs} ${tag}\0`).update(data);
  return hash.digest('base64url').slice(0, 32);
}

/** True if the error means that a body can never be read as an event. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof WireError;
}

const transcoder = new JsonTranscoder();

/** The data of an event as JSON; values that JSON lacks are escaped as in the job cache. */
export function dataJson({ data }: Pick<EventToReturn, 'data'>): string {
  return transcoder.read(data)?.json ?? toJson(unpackMap(data)).json;
}

/** Tag and data as one line of JSON, as stock Salt's `rawfile_json` writes it. */
export function eventLine(event: Pick<EventToReturn, 'tag' | 'data'>): string {
  return `{"tag":${JSON.stringify(event.tag)},"data":${dataJson(event)}}\n`;
}

/** Tag and data as a map, for Salt's own returners. */
export function eventMap({ tag, data }: Pick<EventToReturn, 'tag' | 'data'>): SaltMap {
  return mapOf({ tag, data: unpackMap(data) });
}
