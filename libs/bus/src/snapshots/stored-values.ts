import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import {
  askJetStream,
  isRecord,
  JS_ERRORS,
  type StreamInfo,
  streamInfo,
  textIn,
} from '../connection/js-api.ts';
import { append, newMessageId } from '../streams/append.ts';
import { isBucketStream } from './kept-streams.ts';

/** A message of a bucket or a queue, with its headers. */
export interface StoredValue {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
}

/** A bucket or a queue whose values are to be read. */
export interface StoredValues {
  /** As the server gave it. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly messages: number;
  readonly bytes: number;
  /** The values, once. Throws BusError `BUS_REFUSED`, and as `Inbox.request` does. */
  readonly values: AsyncIterable<StoredValue>;
}

const READ_MS = 5_000;
const WRITE_MS = 15_000;
const MAKE_MS = 15_000;
/** Requests in flight, to read or to write. */
const AT_ONCE = 16;
/** Keys that were written again lie apart: an empty part of a stream costs one request. */
const PARTS = 1_024;
const PART_LEAST = 64;
/** If the stream is still ahead after this time, it is written faster than it can be read. */
const CATCH_UP_MS = 10 * 60_000;

/**
 * Reads a stream whose messages are removed one by one; undefined if there is no such stream. A
 * snapshot of the server is not enough. It skips a whole block when an earlier block becomes empty
 * meanwhile, and a value that is replaced before its block is copied.
 * @throws BusError as `Inbox.request` does
 */
export async function storedValues(bus: Bus, stream: string): Promise<StoredValues | undefined> {
  const info = await streamInfo(bus, stream);
  if (info === undefined) return undefined;
  const { config, messages, bytes } = info;
  const values = isBucketStream(stream)
    ? valuesOfBucket(bus, stream, info)
    : valuesBetween(bus, stream, [{ seq: info.firstSeq, last: info.lastSeq }]);
  return { config, messages, bytes, values };
}

/**
 * A value that is replaced before it is read comes again later. So this reads on until the end, or
 * until it has seen every key. Where none expires, there are no others then.
 */
async function* valuesOfBucket(
  bus: Bus,
  stream: string,
  { config, firstSeq, lastSeq }: StreamInfo,
): AsyncGenerator<StoredValue, void> {
  const until = performance.now() + CATCH_UP_MS;
  const isForEver = config['max_age'] === 0 && config['allow_msg_ttl'] !== true;
  const seen = new Set<string>();
  for (let [next, last] = [firstSeq, lastSeq]; next <= last;) {
    for await (const value of valuesBetween(bus, stream, partsOf(next, last))) {
      seen.add(value.subject);
      yield value;
    }
    next = last + 1;
    const now = await endOf(bus, stream);
    if (isForEver && seen.size >= now.keys) return;
    last = now.lastSeq;
    if (performance.now() < until || next > last) continue;
    const text = `${stream} is written to faster than it can be read: try again later`;
    throw new BusError('BUS_REFUSED', text);
  }
}

async function endOf(bus: Bus, stream: string): Promise<{ lastSeq: number; keys: number }> {
  const answer = await askJetStream(bus, `STREAM.INFO.${stream}`, undefined);
  if (!answer.ok) throw new BusError('BUS_REFUSED', `no state of ${stream}: ${answer.text}`);
  const state = isRecord(answer.value['state']) ? answer.value['state'] : {};
  return { lastSeq: Number(state['last_seq'] ?? 0), keys: Number(state['num_subjects'] ?? 0) };
}

/** A place in a part of a stream, and the part's end. */
interface Cursor {
  seq: number;
  readonly last: number;
}

/** The messages in parts of a stream; the messages of one part are in order. */
async function* valuesBetween(
  bus: Bus,
  stream: string,
  parts: Cursor[],
): AsyncGenerator<StoredValue, void> {
  let active = parts.splice(0, AT_ONCE);
  while (active.length > 0) {
    const found = await Promise.all(active.map(({ seq }) => nextFrom(bus, stream, seq)));
    const left: Cursor[] = [];
    for (const [at, cursor] of active.entries()) {
      const one = found[at];
      if (one === undefined || one.seq > cursor.last) continue;
      yield one.value;
      cursor.seq = one.seq + 1;
      if (cursor.seq <= cursor.last) left.push(cursor);
    }
    active = [...left, ...parts.splice(0, AT_ONCE - left.length)];
  }
}

/** A bucket has each key once at a time, so the order of its values does not matter. */
function partsOf(first: number, last: number): Cursor[] {
  const size = Math.max(PART_LEAST, Math.ceil((last - first + 1) / PARTS));
  const parts: Cursor[] = [];
  for (let seq = first; seq <= last; seq += size) {
    parts.push({ seq, last: Math.min(seq + size - 1, last) });
  }
  return parts;
}

/** The first message from a sequence on. The leader answers, of any replica count. */
async function nextFrom(
  bus: Bus,
  stream: string,
  seq: number,
): Promise<{ readonly seq: number; readonly value: StoredValue } | undefined> {
  const request = { seq, next_by_subj: '>' };
  const answer = await askJetStream(bus, `STREAM.MSG.GET.${stream}`, request, READ_MS);
  if (!answer.ok) {
    if (answer.number === JS_ERRORS.noMessage) return undefined;
    throw new BusError('BUS_REFUSED', `no read of ${stream}: ${answer.text}`);
  }
  const message = answer.value['message'];
  if (!isRecord(message)) throw new BusError('BUS_BAD_MESSAGE', 'a read without a message');
  const value = {
    subject: textIn(message, 'subject'),
    headers: headersIn(Buffer.from(textIn(message, 'hdrs'), 'base64').toString('utf8')),
    data: Buffer.from(textIn(message, 'data'), 'base64'),
  };
  return { seq: Number(message['seq']), value };
}

/**
 * Makes a bucket or a queue, and writes its values in order.
 * @param replicas copies that the stream has from now on
 * @throws BusError `BUS_REFUSED`, also if there is such a stream; `BUS_STREAM_AWAY`,
 *   `BUS_STREAM_FULL`, `BUS_FORBIDDEN`
 */
export async function putValues(
  bus: Bus,
  config: Readonly<Record<string, unknown>>,
  values: AsyncIterable<StoredValue>,
  replicas: number,
): Promise<void> {
  const name = textIn(config, 'name');
  // The server writes the metadata itself; the owner of the streams sets their room.
  const { metadata: _, ...kept } = config;
  const wanted = { ...kept, num_replicas: replicas, max_bytes: -1 };
  const made = await askJetStream(bus, `STREAM.CREATE.${name}`, wanted, MAKE_MS);
  if (!made.ok) throw new BusError('BUS_REFUSED', `${name} was not made: ${made.text}`);
  let waiting: StoredValue[] = [];
  for await (const value of values) {
    waiting.push(value);
    // One connection, so the stream stores them in this order.
    if (waiting.length < AT_ONCE) continue;
    await Promise.all(waiting.map((one) => put(bus, one)));
    waiting = [];
  }
  await Promise.all(waiting.map((one) => put(bus, one)));
}

const MSG_ID = 'Nats-Msg-Id';

/** With its id, a reaction that is added again soon after the restore is not stored twice. */
async function put(bus: Bus, { subject, headers, data }: StoredValue): Promise<void> {
  const { [MSG_ID]: id, ...rest } = headers;
  const msgId = id ?? newMessageId();
  await append(bus, { subject, payload: data, headers: rest, msgId, timeoutMs: WRITE_MS });
}

/** Conditions of the first write do not apply to a second one. */
const CONDITION = /^Nats-Expected-/i;

/** The lines of a message's head except the first. */
function headersIn(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split('\r\n').slice(1)) {
    const at = line.indexOf(':');
    if (at <= 0) continue;
    const name = line.slice(0, at);
    if (!CONDITION.test(name)) found[name] = line.slice(at + 1).trim();
  }
  return found;
}
