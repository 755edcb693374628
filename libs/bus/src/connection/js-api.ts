import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from './connect.ts';
import { BusError } from './errors.ts';

/** The part of a stream's state that Brine uses. */
export interface StreamInfo {
  /** When the stream was made, RFC 3339; it differs once the stream was recreated. */
  readonly incarnation: string;
  readonly messages: number;
  readonly bytes: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** When the first message that is still there was stored, RFC 3339. */
  readonly firstTime: string;
  /** When the last message was stored, RFC 3339. */
  readonly lastTime: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** The JetStream errors that Brine distinguishes (nats-server, server/errors.json). */
export const JS_ERRORS = {
  streamNotFound: 10059,
  consumerNotFound: 10014,
  noMessage: 10037,
  streamNameInUse: 10058,
  wrongLastSequence: 10071,
  storeFailed: 10077,
  insufficientResources: 10023,
  storageExceeded: 10047,
  memoryExceeded: 10028,
  maxMessagesExceeded: 10054,
} as const;

const NOT_NOW: ReadonlySet<number> = new Set([
  10008, // JetStream system temporarily unavailable
  10009, // no leader / peers
  10076, // no quorum or not the leader
  10158, // an earlier try with the same message id is being stored
  JS_ERRORS.consumerNotFound,
]);

/** The answer to a JetStream request. */
export type JsAnswer =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | {
      readonly ok: false;
      readonly number: number;
      readonly text: string;
      readonly notNow: boolean;
    };

/**
 * Sends a request to the JetStream API. A refusal is a value, not an error.
 * @throws BusError as `Inbox.request` does.
 */
export async function askJetStream(
  bus: Bus,
  verb: string,
  value: unknown,
  timeoutMs = 5_000,
): Promise<JsAnswer> {
  const payload = value === undefined ? '' : JSON.stringify(value);
  const msg = await bus.inbox.request(`$JS.API.${verb}`, payload, { timeoutMs });
  return readAnswer(msg.data);
}

/** Reads the JSON of a JetStream answer or acknowledgement. */
export function readAnswer(data: Uint8Array): JsAnswer {
  const value = objectIn(data);
  const error = value['error'];
  if (!isRecord(error)) return { ok: true, value };
  const number = Number(error['err_code'] ?? 0);
  const code = Number(error['code'] ?? 0);
  const text = textIn(error, 'description');
  return {
    ok: false,
    number,
    text,
    notNow: NOT_NOW.has(number) || (code === 503 && !isFull(number)),
  };
}

/** True if the error number means that the stream or the disk has no room. */
export function isFull(number: number): boolean {
  return (
    number === JS_ERRORS.storeFailed ||
    number === JS_ERRORS.insufficientResources ||
    number === JS_ERRORS.storageExceeded ||
    number === JS_ERRORS.maxMessagesExceeded ||
    number === JS_ERRORS.memoryExceeded
  );
}

/**
 * Reads a stream's state; undefined where there is no such stream.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function streamInfo(bus: Bus, stream: string): Promise<StreamInfo | undefined> {
  const answer = await askJetStream(bus, `STREAM.INFO.${stream}`, undefined);
  if (!answer.ok) {
    if (answer.number === JS_ERRORS.streamNotFound) return undefined;
    throw new BusError('BUS_REFUSED', `no state of stream ${stream}: ${answer.text}`);
  }
  const state = isRecord(answer.value['state']) ? answer.value['state'] : {};
  return {
    incarnation: textIn(answer.value, 'created'),
    messages: Number(state['messages'] ?? 0),
    bytes: Number(state['bytes'] ?? 0),
    firstSeq: Number(state['first_seq'] ?? 0),
    lastSeq: Number(state['last_seq'] ?? 0),
    firstTime: textIn(state, 'first_ts'),
    lastTime: textIn(state, 'last_ts'),
    config: isRecord(answer.value['config']) ? answer.value['config'] : {},
  };
}

/**
 * How many messages a stream has of each subject that fits a filter; empty if there is no such
 * stream. The server reports up to 100,000 subjects.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function subjectCounts(
  bus: Bus,
  stream: string,
  filter: string,
): Promise<ReadonlyMap<string, number>> {
  const answer = await askJetStream(bus, `STREAM.INFO.${stream}`, { subjects_filter: filter });
  if (!answer.ok) {
    if (answer.number === JS_ERRORS.streamNotFound) return new Map();
    throw new BusError('BUS_REFUSED', `no subjects of stream ${stream}: ${answer.text}`);
  }
  const state = isRecord(answer.value['state']) ? answer.value['state'] : {};
  const subjects = isRecord(state['subjects']) ? state['subjects'] : {};
  return new Map(Object.entries(subjects).map(([subject, count]) => [subject, Number(count)]));
}

/** A new leader may lack messages of its predecessor for `forMs`; polled at `lookMs`. */
const BEHIND = { forMs: 2_000, lookMs: 100 };

/**
 * As {@link streamInfo}, for a stream that was read up to `seq`. A new leader answers before it has
 * all that its predecessor had stored. So a stream counts as restored only if it still ends below
 * `seq` after 2 s. For a stream with another incarnation it does not wait.
 */
export async function settledInfo(
  bus: Bus,
  stream: string,
  { seq, incarnation }: { readonly seq: number; readonly incarnation: string | undefined },
): Promise<StreamInfo | undefined> {
  const until = performance.now() + BEHIND.forMs;
  for (;;) {
    const info = await streamInfo(bus, stream);
    const isBehind = info?.incarnation === incarnation && (info?.lastSeq ?? seq) < seq;
    if (!isBehind || performance.now() >= until) return info;
    await sleep(BEHIND.lookMs);
  }
}

/** True if a parsed JSON value is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text of a parsed JSON object; empty if missing. */
export function textIn(value: Readonly<Record<string, unknown>>, key: string): string {
  const text = value[key];
  return typeof text === 'string' ? text : '';
}

function objectIn(data: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8'));
  } catch (error) {
    throw new BusError('BUS_BAD_MESSAGE', 'JetStream did not answer with JSON', error);
  }
  if (!isRecord(value)) throw new BusError('BUS_BAD_MESSAGE', 'JetStream answered no object');
  return value;
}
