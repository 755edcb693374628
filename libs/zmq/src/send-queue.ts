import { ZmqError } from './errors.ts';

/** What a queue writes to: a zeromq socket. */
export interface FrameSink {
  send(frames: readonly Uint8Array[]): Promise<void>;
}

interface Waiting {
  readonly frames: readonly Uint8Array[];
  readonly resolve: () => void;
  readonly reject: (error: ZmqError) => void;
}

/**
 * Sends one message at a time, in order: zeromq.js allows a single send in progress per socket
 * and refuses a second one with EBUSY. ROUTER and PUB never block for long (they drop what a
 * slow peer does not read), so the queue holds what was handed over within one turn of the loop.
 */
export class SendQueue {
  readonly #sink: FrameSink;
  #waiting: Waiting[] = [];
  #head = 0;
  #sending = false;
  #closed = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Messages handed over and not yet given to libzmq. */
  get length(): number {
    return this.#waiting.length - this.#head;
  }

  /**
   * Resolves once libzmq has the message.
   *
   * @throws ZmqError `SALT_ZMQ_CLOSED` after {@link close}, `SALT_ZMQ_SOCKET` where libzmq refuses
   */
  send(frames: readonly Uint8Array[]): Promise<void> {
    if (this.#closed) {
      return Promise.reject(new ZmqError('SALT_ZMQ_CLOSED', 'the socket is closed'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ frames, resolve, reject });
      if (!this.#sending) void this.#pump();
    });
  }

  /** Resolves when everything handed over so far was given to libzmq. */
  async idle(): Promise<void> {
    while (this.length > 0) {
      await new Promise<void>((done) => setImmediate(done));
    }
  }

  /** Refuses what still waits and everything that comes later. */
  close(): void {
    this.#closed = true;
    const left = this.#waiting.slice(this.#head);
    this.#waiting = [];
    this.#head = 0;
    const closed = new ZmqError('SALT_ZMQ_CLOSED', 'the socket was closed before the message left');
    for (const item of left) item.reject(closed);
  }

  async #pump(): Promise<void> {
    this.#sending = true;
    for (;;) {
      const item = this.#waiting[this.#head];
      if (item === undefined) break;
      try {
        await this.#sink.send(item.frames);
        item.resolve();
      } catch (error) {
        item.reject(new ZmqError('SALT_ZMQ_SOCKET', 'libzmq refused a message', error));
      }
      this.#advance();
    }
    this.#sending = false;
  }

  #advance(): void {
    if (this.#closed) return;
    this.#head += 1;
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    } else if (this.#head >= 1024) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
  }
}
