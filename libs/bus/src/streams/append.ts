import { randomBytes } from 'node:crypto';
import type { Msg, MsgHdrs } from '@nats-io/nats-core';
import type { Bus } from '../connection/connect.ts';
import { asError, BusError } from '../connection/errors.ts';
import { writeHeaders } from '../connection/headers.ts';
import type { InboxSlot } from '../connection/inbox.ts';
import { isNoResponders, publish } from '../connection/inbox.ts';
import { isFull, JS_ERRORS, readAnswer } from '../connection/js-api.ts';
import type { WheelTimer } from '../connection/timer-wheel.ts';

/** The header with the id by which JetStream recognises a duplicate. */
export const MSG_ID = 'Nats-Msg-Id';
/** The header for a compare-and-set on the last revision of a subject. */
const EXPECTED_LAST_REVISION = 'Nats-Expected-Last-Subject-Sequence';

/** One message to be stored. */
export interface Append {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly msgId?: string;
  readonly expectedRevision?: number;
  /** How long to try, in ms. */
  readonly timeoutMs: number;
}

/** Where a message is stored. For a `duplicate`, where the first copy is. */
export interface Appended {
  readonly seq: number;
  readonly duplicate: boolean;
}

/** Without an ack for this long the message is sent again: a reconnect loses messages in flight. */
const RESEND_MS = 1_500;
/** The wait while no stream takes the subject. */
const AWAY_RETRY_MS = 250;

/**
 * Stores one message and resolves with the stream's acknowledgement. It retries while the stream is
 * unreachable. After a missing ack it sends the message again only with a `msgId` or an expected
 * revision, since the stream then stores it once.
 * @throws BusError `BUS_STREAM_AWAY`, `BUS_STREAM_FULL`, `BUS_CONFLICT`, `BUS_REFUSED`,
 *   `BUS_FORBIDDEN`, `BUS_BUSY`, `BUS_CLOSED`.
 */
export function append(bus: Bus, what: Append): Promise<Appended> {
  return new Promise((resolve, reject) => {
    new Attempt(bus, what, resolve, reject).start();
  });
}

/** An id for a message without a natural one, so that it can be sent again and is stored once. */
export function newMessageId(): string {
  return randomBytes(12).toString('base64url');
}

class Attempt {
  readonly #bus: Bus;
  readonly #what: Append;
  readonly #headers: MsgHdrs | undefined;
  readonly #resolve: (appended: Appended) => void;
  readonly #reject: (error: BusError) => void;
  readonly #until: number;
  #slot: InboxSlot | undefined;
  #timer: WheelTimer | undefined;
  #trouble = 'no acknowledgement';

  constructor(
    bus: Bus,
    what: Append,
    resolve: (appended: Appended) => void,
    reject: (error: BusError) => void,
  ) {
    this.#bus = bus;
    this.#what = what;
    this.#headers = headersOf(what);
    this.#resolve = resolve;
    this.#reject = reject;
    this.#until = performance.now() + what.timeoutMs;
  }

  start(): void {
    try {
      this.#slot = this.#bus.inbox.open(
        this.#what.subject,
        (msg) => this.#answered(msg),
        (error) => this.#fail(error),
        this.#repeatable ? () => this.#send() : undefined,
      );
    } catch (error) {
      this.#reject(error instanceof BusError ? error : closed(error));
      return;
    }
    this.#send();
  }

  /** True if the stream recognises a second send. */
  get #repeatable(): boolean {
    return this.#what.msgId !== undefined || this.#what.expectedRevision !== undefined;
  }

  #send(): void {
    try {
      publish(
        this.#bus.connection,
        this.#what.subject,
        this.#what.payload,
        this.#slot?.subject,
        this.#headers,
      );
    } catch (error) {
      this.#fail(closed(error));
      return;
    }
    if (this.#repeatable) this.#again(RESEND_MS);
    else this.#again(Number.POSITIVE_INFINITY);
  }

  #again(delayMs: number): void {
    const left = this.#until - performance.now();
    this.#timer?.clear();
    if (delayMs < left) {
      this.#timer = this.#bus.wheel.set(delayMs, () => this.#send());
      return;
    }
    this.#timer = this.#bus.wheel.set(left, () => {
      const text = `${this.#what.subject} was not stored: ${this.#trouble}`;
      this.#fail(new BusError('BUS_STREAM_AWAY', text));
    });
  }

  #answered(msg: Msg): void {
    if (isNoResponders(msg)) {
      this.#trouble = 'no stream takes it';
      this.#again(AWAY_RETRY_MS);
      return;
    }
    let answer;
    try {
      answer = readAnswer(msg.data);
    } catch (error) {
      this.#fail(new BusError('BUS_BAD_MESSAGE', 'an unreadable acknowledgement', error));
      return;
    }
    if (answer.ok) {
      this.#end();
      const duplicate = answer.value['duplicate'] === true;
      this.#resolve({ seq: Number(answer.value['seq']), duplicate });
    } else if (answer.notNow) {
      this.#trouble = answer.text;
      this.#again(AWAY_RETRY_MS);
    } else {
      this.#fail(refusal(this.#what.subject, answer.number, answer.text));
    }
  }

  #fail(error: BusError): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#slot?.close();
    this.#timer?.clear();
  }
}

function refusal(subject: string, number: number, text: string): BusError {
  const why = `${subject} was not stored: ${text} (${number})`;
  if (number === JS_ERRORS.wrongLastSequence) return new BusError('BUS_CONFLICT', why);
  if (isFull(number)) return new BusError('BUS_STREAM_FULL', why);
  return new BusError('BUS_REFUSED', why);
}

function headersOf(what: Append): MsgHdrs | undefined {
  if (
    what.headers === undefined &&
    what.msgId === undefined &&
    what.expectedRevision === undefined
  ) {
    return undefined;
  }
  const lines: [string, string][] = Object.entries(what.headers ?? {});
  if (what.msgId !== undefined) lines.push([MSG_ID, what.msgId]);
  if (what.expectedRevision !== undefined) {
    lines.push([EXPECTED_LAST_REVISION, String(what.expectedRevision)]);
  }
  return writeHeaders(lines);
}

function closed(error: unknown): BusError {
  return new BusError('BUS_CLOSED', 'the connection is closed', asError(error));
}
