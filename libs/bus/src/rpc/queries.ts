import { setTimeout as sleep } from 'node:timers/promises';
import { InFlight, isRetryable } from '@brine/tasks';
import type { SaltValue } from '@brine/wire';
import { pack, unpack } from '@brine/wire';
import type { Msg } from '@nats-io/nats-core';
import type { Bus } from '../connection/connect.ts';
import { asError, BusError } from '../connection/errors.ts';
import { publish } from '../connection/inbox.ts';
import { getBody, INLINE_MAX_BYTES, putBody } from '../streams/bodies.ts';
import { SERVICE_INBOXES, SUBJECT_ROOT } from '../subjects/names.ts';

/** Answers one question. If it throws, the asker gets the error's message and its `retryable`. */
export type QueryHandler = (question: SaltValue) => Promise<SaltValue> | SaltValue;

/** A service that answers questions. */
export interface Answering {
  /** Takes no more questions and finishes those in flight. */
  readonly close: () => Promise<void>;
}

// The first byte of every question and answer.
const INLINE = 0x49; // I: the value follows, as msgpack
const ELSEWHERE = 0x46; // F: the reference of the value follows
const FAILED = 0x45; // E: the text of an error follows
const AWAY = 0x41; // A: the text of an error that passes follows

/** Questions that one service answers at once; further ones get "busy". */
const MAX_IN_FLIGHT = 256;
const QUEUE = 'brine';
const DRAIN_MS = 2_000;

/**
 * Answers questions on `brine.<subject>` (or the subject as given, if it begins so). Several
 * services that serve the same subject share the questions.
 */
export function serve(bus: Bus, subject: string, handler: QueryHandler): Answering {
  const inFlight = new InFlight(MAX_IN_FLIGHT);
  const subscription = bus.connection.subscribe(rooted(subject), {
    queue: QUEUE,
    callback: (_error, msg) => {
      const reply = msg.reply;
      if (reply === undefined || !isInbox(reply)) return;
      if (inFlight.isFull) {
        publish(bus.connection, reply, frame(FAILED, Buffer.from('busy')));
        return;
      }
      inFlight.add(answer(bus, msg, reply, handler));
    },
  });
  return {
    close: async () => {
      // The server has assigned these questions to this service; no other gets them.
      if (bus.status === 'connected') await inTime(subscription.drain());
      else if (!bus.connection.isClosed()) subscription.unsubscribe();
      await inFlight.settled();
    },
  };
}

/** Bounded: a connection that is lost meanwhile would never end the drain. */
async function inTime(drained: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, DRAIN_MS)));
  // Only the end of the connection makes it fail.
  await Promise.race([drained.catch(() => undefined), late]);
  clearTimeout(timer);
}

/**
 * Asks a question and waits for the answer.
 * @throws BusError `BUS_NO_ANSWER` (no service answers), `BUS_TIMEOUT`, `BUS_FORBIDDEN`. With the
 *   text of the failure: `BUS_QUERY_AWAY` if a retry may succeed, else `BUS_QUERY_FAILED`.
 */
export async function ask(
  bus: Bus,
  subject: string,
  question: SaltValue,
  timeoutMs: number,
): Promise<SaltValue> {
  const payload = await packFrame(bus, question);
  const msg = await bus.answers.request(rooted(subject), payload, { timeoutMs });
  return readFrame(bus, msg.data);
}

/** How long to retry a question, in ms. */
export interface Patience {
  /** How long one try waits for its answer. */
  readonly tryMs: number;
  /** All tries together. */
  readonly waitMs: number;
  readonly retryMs: number;
}

/**
 * As {@link ask}, retried while the failure is temporary: the answering service may be being
 * replaced.
 * @throws BusError of the last try
 */
export async function askPatiently(
  bus: Bus,
  subject: string,
  question: SaltValue,
  { tryMs, waitMs, retryMs }: Patience,
): Promise<SaltValue> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    try {
      const timeoutMs = Math.min(tryMs, Math.max(1, untilMs - performance.now()));
      return await ask(bus, subject, question, timeoutMs);
    } catch (error) {
      if (!isRetryable(error) || performance.now() + retryMs > untilMs) throw error;
    }
    await sleep(retryMs);
  }
}

async function answer(bus: Bus, msg: Msg, reply: string, handler: QueryHandler): Promise<void> {
  let payload: Uint8Array;
  try {
    payload = await packFrame(bus, await handler(await readFrame(bus, msg.data)));
  } catch (error) {
    const failure = asError(error);
    payload = frame(
      isRetryable(failure) ? AWAY : FAILED,
      Buffer.from(failure.message.slice(0, 4_000)),
    );
  }
  if (!bus.connection.isClosed()) publish(bus.connection, reply, payload);
}

async function packFrame(bus: Bus, value: SaltValue): Promise<Uint8Array> {
  const bytes = pack(value, 'bin');
  if (bytes.length <= INLINE_MAX_BYTES) return frame(INLINE, bytes);
  return frame(ELSEWHERE, Buffer.from(await putBody(bus, 'qry', bytes)));
}

async function readFrame(bus: Bus, data: Uint8Array): Promise<SaltValue> {
  const rest = data.subarray(1);
  switch (data[0]) {
    case INLINE:
      return unpack(rest);
    case ELSEWHERE:
      return unpack(await getBody(bus, 'qry', Buffer.from(rest).toString('latin1')));
    case AWAY:
      throw new BusError('BUS_QUERY_AWAY', Buffer.from(rest).toString('utf8'));
    case FAILED:
      throw new BusError('BUS_QUERY_FAILED', Buffer.from(rest).toString('utf8'));
    default:
      throw new BusError('BUS_BAD_MESSAGE', 'neither a question nor an answer');
  }
}

function frame(kind: number, rest: Uint8Array): Buffer {
  const packed = Buffer.allocUnsafe(1 + rest.length);
  packed[0] = kind;
  packed.set(rest, 1);
  return packed;
}

/** Answers go to a service's inbox only: any other subject might belong to a stream. */
function isInbox(subject: string): boolean {
  return Object.values(SERVICE_INBOXES).some((inbox) => subject.startsWith(`${inbox}.`));
}

function rooted(subject: string): string {
  return subject.startsWith(`${SUBJECT_ROOT}.`) ? subject : `${SUBJECT_ROOT}.${subject}`;
}
