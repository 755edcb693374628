import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { headersOf, headerText } from '../connection/headers.ts';
import { type StreamInfo, streamInfo } from '../connection/js-api.ts';
import type { StreamName } from '../subjects/names.ts';
import type { StreamMessage } from './pull-feed.ts';
import type { Received } from './stream-reader.ts';

/** A message of a stream: the one at a sequence, the last of a subject, the first since a time. */
type MessagePlace =
  { readonly seq: number } | { readonly lastOf: string } | { readonly sinceMs: number };

const TIMEOUT_MS = 3_000;
const FIRST_TIMEOUT_MS = 5_000;
/** How often a lagging replica is asked again, and the ms between. */
const FIRST_TRIES = 20;
const FIRST_AGAIN_MS = 100;

/**
 * Reads one message by its place, from any replica; undefined if there is no such message.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function directGet(
  bus: Bus,
  stream: string,
  place: MessagePlace,
  timeoutMs = TIMEOUT_MS,
): Promise<StreamMessage | undefined> {
  const [subject, payload] = requestFor(stream, place);
  const msg = await bus.inbox.request(subject, payload, { timeoutMs });
  const code = msg.headers?.code ?? 0;
  if (code === 404) return undefined;
  const header = headersOf(msg);
  const seq = Number(header('Nats-Sequence'));
  if (code !== 0 || !Number.isInteger(seq) || seq <= 0) {
    throw new BusError('BUS_REFUSED', `no message of ${stream}: ${code}`);
  }
  return {
    subject: header('Nats-Subject'),
    data: msg.data,
    header,
    headers: () => headerText(msg),
    seq,
    timeUs: microseconds(header('Nats-Time-Stamp')),
  };
}

/**
 * The first sequence stored at or after a time, in ms since 1970; the one after the last if all are
 * older. A replica that lacks the leader's last messages answers that none is so recent.
 * @param info the stream, as its leader reports it
 * @throws BusError `BUS_STREAM_AWAY`, and as {@link directGet} does.
 */
export async function firstSince(
  bus: Bus,
  stream: StreamName,
  sinceMs: number,
  info: StreamInfo,
): Promise<number> {
  let now: StreamInfo | undefined = info;
  for (let tries = 0; now !== undefined && tries < FIRST_TRIES; tries += 1) {
    if (now.messages === 0) return now.lastSeq + 1;
    if (sinceMs <= 0) return now.firstSeq;
    const first = await directGet(bus, stream, { sinceMs }, FIRST_TIMEOUT_MS);
    if (first !== undefined) return first.seq;
    if (Date.parse(now.lastTime) < sinceMs) return now.lastSeq + 1;
    await sleep(FIRST_AGAIN_MS);
    now = await streamInfo(bus, stream);
  }
  throw new BusError('BUS_STREAM_AWAY', `${stream} does not return its first message since a time`);
}

/**
 * Reads one message by its sequence, in the form of a received one; undefined if it is not stored
 * (any more).
 * @throws BusError as {@link directGet} does.
 */
export async function readStored(
  bus: Bus,
  stream: StreamName,
  seq: number,
): Promise<Received | undefined> {
  const info = await streamInfo(bus, stream);
  const message = info && (await directGet(bus, stream, { seq }));
  return message && withoutReader({ ...message, incarnation: info.incarnation });
}

/** A message that no reader received: it needs no acknowledgement and is not delivered again. */
export function withoutReader(message: StreamMessage & { readonly incarnation: string }): Received {
  const nothing = (): void => undefined;
  return {
    ...message,
    settle: nothing,
    failed: nothing,
    consumerSeq: 0,
    pending: 0,
    deliveries: 1,
    followsOn: false,
  };
}

/** Microseconds since 1970 of an RFC 3339 time; a Date would cut it to milliseconds. */
export function microseconds(time: string): number {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
  const wholeMs = Date.parse(time.replace(/\.\d+/, ''));
  return wholeMs * 1_000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}

function requestFor(stream: string, place: MessagePlace): readonly [subject: string, body: string] {
  const root = `$JS.API.DIRECT.GET.${stream}`;
  // NATS grants rights by subject. A service with rights to some subjects only needs this form.
  if ('lastOf' in place) return [`${root}.${place.lastOf}`, ''];
  if ('seq' in place) return [root, JSON.stringify({ seq: place.seq })];
  const since = new Date(place.sinceMs).toISOString();
  return [root, JSON.stringify({ start_time: since, batch: 1 })];
}
