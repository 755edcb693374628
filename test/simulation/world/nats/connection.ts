import type { MsgHdrs, NatsConnection } from '@nats-io/nats-core';
import type { SimMessage } from './message.ts';
import { clientMessage, readHeaders } from './message.ts';
import type { SimNats } from './server.ts';

/** What a client wants to hear. */
export interface Interest {
  readonly connection: SimConnection;
  readonly pattern: string;
  readonly queue: string | undefined;
  readonly deliver: (message: SimMessage) => void;
}

interface SubscribeOptions {
  readonly queue?: string;
  readonly callback: (error: Error | null, msg: ReturnType<typeof clientMessage>) => void;
}

interface StatusEvent {
  readonly type: 'disconnect' | 'reconnect';
}

/**
 * A client's connection, as the client library shows it, over a wire that delays, stalls and
 * breaks. As on TCP nothing is reordered within one direction, and what is under way when the wire
 * breaks is lost without a word.
 */
export class SimConnection {
  readonly name: string;
  readonly #server: SimNats;
  readonly #status: StatusEvent[] = [];
  #wakeStatus: (() => void) | undefined;
  #finish: (error: Error | undefined) => void = () => undefined;
  readonly #closed: Promise<Error | undefined>;
  #isClosed = false;
  #up = true;
  /** Counts the wires: what was sent over an earlier one never comes. */
  #wire = 0;
  #outAt = 0;
  #inAt = 0;
  #stalledUntil = 0;

  constructor(server: SimNats, name: string) {
    this.#server = server;
    this.name = name;
    this.#closed = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** For the library under test, which uses no more of it than is here. */
  get asClient(): NatsConnection {
    return this as unknown as NatsConnection;
  }

  get info(): { readonly version: string } {
    return { version: '2.12.8' };
  }

  get isUp(): boolean {
    return this.#up && !this.#isClosed;
  }

  publish(
    subject: string,
    payload: Uint8Array | string = '',
    options: { readonly reply?: string; readonly headers?: MsgHdrs } = {},
  ): void {
    if (this.#isClosed) throw new Error('CONNECTION_CLOSED');
    if (!this.#up) return;
    // A copy: the sender may use its buffer again.
    const data = typeof payload === 'string' ? Buffer.from(payload) : Uint8Array.from(payload);
    const headers = readHeaders(options.headers);
    const message: SimMessage = {
      subject,
      data,
      ...(options.reply === undefined ? {} : { reply: options.reply }),
      ...(headers === undefined ? {} : { headers }),
    };
    const wire = this.#wire;
    this.#outAt = this.#arrival(this.#outAt);
    this.#server.time.after(this.#outAt - this.#server.time.now, () => {
      if (wire === this.#wire && this.isUp) this.#server.take(message);
    });
  }

  subscribe(pattern: string, options: SubscribeOptions): object {
    if (this.#isClosed) throw new Error('CONNECTION_CLOSED');
    let isOver = false;
    const interest: Interest = {
      connection: this,
      pattern,
      queue: options.queue,
      deliver: (message) => {
        const shown = clientMessage(message, (data) => {
          if (message.reply !== undefined && !this.#isClosed) this.publish(message.reply, data);
        });
        this.#receive(() => {
          if (!isOver) options.callback(null, shown);
        });
      },
    };
    this.#server.interests.add(interest);
    return {
      unsubscribe: () => {
        isOver = true;
        this.#server.interests.remove(interest);
      },
      // What is on its way still comes.
      drain: async () => this.#server.interests.remove(interest),
      isClosed: () => isOver || this.#isClosed,
    };
  }

  async *status(): AsyncGenerator<StatusEvent, void> {
    for (;;) {
      const event = this.#status.shift();
      if (event !== undefined) yield event;
      else if (this.#isClosed) return;
      else await new Promise<void>((resolve) => (this.#wakeStatus = resolve));
    }
  }

  closed(): Promise<Error | undefined> {
    return this.#closed;
  }

  isClosed(): boolean {
    return this.#isClosed;
  }

  isDraining(): boolean {
    return false;
  }

  async flush(): Promise<void> {
    await this.#server.time.sleep(2);
  }

  async drain(): Promise<void> {
    // What was published goes out before the end.
    await this.#server.time.sleep(Math.max(1, this.#outAt - this.#server.time.now));
    await this.close();
  }

  close(): Promise<void> {
    this.end(undefined);
    return Promise.resolve();
  }

  /** Ends it for good; for a killed process nothing that is under way arrives. */
  end(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#wire += 1;
    this.#server.forget(this);
    this.#finish(error);
    this.#wake();
  }

  /** Breaks the wire; the client library makes another one after so long. */
  cut(downMs: number): void {
    if (!this.isUp) return;
    this.#up = false;
    this.#wire += 1;
    this.#server.lost();
    this.#tell('disconnect');
    this.#server.time.after(downMs, () => this.#reconnect());
  }

  /** Nothing passes either way for so long; then all of it does. */
  stall(ms: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, this.#server.time.now + ms);
  }

  #reconnect(): void {
    if (this.#isClosed) return;
    if (!this.#server.isUp) {
      this.#server.time.after(250, () => this.#reconnect());
      return;
    }
    this.#up = true;
    this.#outAt = 0;
    this.#inAt = 0;
    this.#tell('reconnect');
  }

  #receive(hand: () => void): void {
    const wire = this.#wire;
    this.#inAt = this.#arrival(this.#inAt);
    this.#server.time.after(this.#inAt - this.#server.time.now, () => {
      if (wire === this.#wire && this.isUp) hand();
    });
  }

  #arrival(last: number): number {
    const { time, random } = this.#server;
    const usual = random.chance(0.95) ? random.between(0, 1) : random.between(2, 25);
    return Math.max(last, time.now + usual, this.#stalledUntil);
  }

  #tell(type: StatusEvent['type']): void {
    this.#status.push({ type });
    this.#wake();
  }

  #wake(): void {
    this.#wakeStatus?.();
    this.#wakeStatus = undefined;
  }
}
