import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/nats-core';
import { BusError } from './errors.ts';
import type { TimerWheel } from './timer-wheel.ts';

/** How many answers may be awaited at once on one connection; beyond it callers get `BUS_BUSY`. */
const MAX_SLOTS = 65_536;

/** An address for answers. */
export interface InboxSlot {
  readonly subject: string;
  readonly close: () => void;
}

interface OpenSlot {
  readonly target: string;
  readonly onMessage: (msg: Msg) => void;
  readonly onError: (error: BusError) => void;
  readonly onReconnect: (() => void) | undefined;
}

/** Options of a request. */
export interface RequestOptions {
  readonly timeoutMs: number;
  readonly headers?: MsgHdrs;
}

/**
 * All answers to one connection: one subscription, one map, one timer wheel. The client's own
 * `request()` makes a promise, a timer and a stack trace for each request, and costs 3 to 5 times
 * as much.
 */
export class Inbox {
  readonly #nc: NatsConnection;
  readonly #wheel: TimerWheel;
  readonly #prefix: string;
  readonly #slots = new Map<string, OpenSlot>();
  #next = 0;

  constructor(nc: NatsConnection, prefix: string, wheel: TimerWheel) {
    this.#nc = nc;
    this.#wheel = wheel;
    this.#prefix = `${prefix}.`;
    nc.subscribe(`${this.#prefix}*`, {
      callback: (error, msg) => {
        if (error === null || error === undefined) this.#deliver(msg);
        else this.failAll(new BusError('BUS_FORBIDDEN', 'the inbox was refused', error));
      },
    });
  }

  /** How many answers are awaited. */
  get size(): number {
    return this.#slots.size;
  }

  /**
   * Opens an address; it stays open until it is closed. `target` is the subject of the request:
   * when the server refuses to publish there, the wait ends at once. `onReconnect` is called after
   * a reconnect, since the request or its answer may be lost.
   * @throws BusError `BUS_BUSY` when too many are open.
   */
  open(
    target: string,
    onMessage: (msg: Msg) => void,
    onError: (error: BusError) => void,
    onReconnect?: () => void,
  ): InboxSlot {
    if (this.#slots.size >= MAX_SLOTS) {
      throw new BusError('BUS_BUSY', `${MAX_SLOTS} answers are awaited already`);
    }
    const id = (this.#next++).toString(36);
    this.#slots.set(id, { target, onMessage, onError, onReconnect });
    return { subject: this.#prefix + id, close: () => void this.#slots.delete(id) };
  }

  /**
   * Sends one message and waits for one answer. It sends the message again after a reconnect, so
   * the request must be idempotent.
   * @throws BusError `BUS_TIMEOUT`, `BUS_NO_ANSWER` (no subscriber), `BUS_FORBIDDEN`,
   * `BUS_CLOSED`.
   */
  request(subject: string, payload: Uint8Array | string, options: RequestOptions): Promise<Msg> {
    return new Promise<Msg>((resolve, reject) => {
      const settle = (act: () => void): void => {
        slot.close();
        timer.clear();
        act();
      };
      const send = (): void => {
        try {
          publish(this.#nc, subject, payload, slot.subject, options.headers);
        } catch (error) {
          settle(() => reject(new BusError('BUS_CLOSED', 'the connection is closed', error)));
        }
      };
      const slot = this.open(
        subject,
        (msg) =>
          settle(() => {
            if (isNoResponders(msg)) reject(noAnswer(subject));
            else resolve(msg);
          }),
        (error) => settle(() => reject(error)),
        () => send(),
      );
      const timer = this.#wheel.set(options.timeoutMs, () => {
        const text = `no answer on ${subject} within ${options.timeoutMs} ms`;
        settle(() => reject(new BusError('BUS_TIMEOUT', text)));
      });
      send();
    });
  }

  /** The server refused a publish on a subject: all that wait for an answer from there fail. */
  refuse(subject: string, cause: Error): void {
    for (const [id, slot] of this.#slots) {
      if (slot.target !== subject) continue;
      this.#slots.delete(id);
      slot.onError(new BusError('BUS_FORBIDDEN', `not allowed to publish to ${subject}`, cause));
    }
  }

  /** The connection is back, so requests in flight are sent again. */
  reconnected(): void {
    for (const slot of [...this.#slots.values()]) slot.onReconnect?.();
  }

  /** Ends every wait with this error. */
  failAll(error: BusError): void {
    const slots = [...this.#slots.values()];
    this.#slots.clear();
    for (const slot of slots) slot.onError(error);
  }

  #deliver(msg: Msg): void {
    this.#slots.get(msg.subject.slice(this.#prefix.length))?.onMessage(msg);
  }
}

/** Publishes, leaving out what was not given. */
export function publish(
  nc: NatsConnection,
  subject: string,
  payload: Uint8Array | string,
  reply?: string,
  headers?: MsgHdrs,
): void {
  nc.publish(subject, payload, {
    ...(reply === undefined ? {} : { reply }),
    ...(headers === undefined ? {} : { headers }),
  });
}

/** True if a publish would not throw, as it does after close or drain. */
export function canPublish(nc: NatsConnection): boolean {
  return !nc.isClosed() && !nc.isDraining();
}

/** The server's own answer for a subject without subscribers: empty, with status 503. */
export function isNoResponders(msg: Msg): boolean {
  return msg.data.length === 0 && msg.headers?.code === 503;
}

function noAnswer(subject: string): BusError {
  return new BusError('BUS_NO_ANSWER', `nothing listens on ${subject}`);
}
