import { ThinPeer } from '@brine/zmq';
import { monotonicMs } from '../clock.ts';

/** Called with the payload, or undefined if no answer came in time. */
export type OnReply = (payload: Buffer | undefined) => void;

// Interval for retrying a refused connection, as in libzmq (RECONNECT_IVL 100 ms).
const RECONNECT_MS = 100;
const SWEEP_MS = 100;

/** Deadlines of all pending requests of a process, with one timer. */
export class Deadlines {
  readonly #busy = new Set<RequestLine>();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS);
    this.#timer.unref();
  }

  add(line: RequestLine): void {
    this.#busy.add(line);
  }

  delete(line: RequestLine): void {
    this.#busy.delete(line);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sweep(): void {
    const now = monotonicMs();
    for (const line of this.#busy) line.expire(now);
  }
}

/**
 * One REQ to the master: connects when it is first used, one request at a time. As a stock minion
 * it hangs up when an answer is late, and connects again for the next request.
 */
export class RequestLine {
  readonly #host: string;
  readonly #port: number;
  readonly #deadlines: Deadlines;
  #peer: ThinPeer | undefined;
  #connecting = false;
  #waiting: OnReply | undefined;
  #unsent: readonly Uint8Array[] | undefined;
  #dueMs = Infinity;
  #overdue = false;
  #closed = false;
  readonly #queue: (() => void)[] = [];

  constructor(host: string, port: number, deadlines: Deadlines) {
    this.#host = host;
    this.#port = port;
    this.#deadlines = deadlines;
  }

  /** True while a request is pending. */
  get busy(): boolean {
    return this.#waiting !== undefined;
  }

  /** Calls back, in turn, when no request is pending; at once if none is. */
  whenFree(call: () => void): void {
    if (this.#waiting === undefined && this.#queue.length === 0) call();
    else this.#queue.push(call);
  }

  /** Sends a body (these parts in a row). Throws Error while another request is pending. */
  request(parts: readonly Uint8Array[], timeoutMs: number, onReply: OnReply): void {
    if (this.#waiting !== undefined) throw new Error('a REQ has one request at a time');
    this.#waiting = onReply;
    this.#dueMs = monotonicMs() + timeoutMs;
    this.#overdue = false;
    this.#deadlines.add(this);
    if (this.#peer !== undefined && !this.#peer.closed) this.#peer.sendRequest(parts);
    else {
      this.#unsent = parts;
      this.#connect();
    }
  }

  /** Ends an overdue request at the second check: the socket may have an unread answer. */
  expire(nowMs: number): void {
    if (nowMs < this.#dueMs) return;
    if (!this.#overdue) {
      this.#overdue = true;
      return;
    }
    this.drop();
    this.#answer(undefined);
  }

  /** Hangs up; a pending request ends with its timeout. */
  drop(): void {
    const peer = this.#peer;
    this.#peer = undefined;
    peer?.close();
  }

  /** Hangs up for good; a pending request gets no answer. */
  close(): void {
    this.#closed = true;
    this.#waiting = undefined;
    this.#queue.length = 0;
    this.#deadlines.delete(this);
    this.drop();
  }

  #answer(payload: Buffer | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#unsent = undefined;
    this.#dueMs = Infinity;
    this.#deadlines.delete(this);
    waiting?.(payload);
    while (this.#queue.length > 0 && this.#waiting === undefined) this.#queue.shift()?.();
  }

  #connect(): void {
    if (this.#connecting) return;
    this.#connecting = true;
    let made: ThinPeer | undefined;
    ThinPeer.open({
      host: this.#host,
      port: this.#port,
      onMessage: (frames) => {
        // Ignore late answers from an abandoned connection.
        if (made === this.#peer && frames.length === 2) this.#answer(frames[1]);
      },
    }).then(
      (peer) => {
        made = peer;
        this.#connected(peer);
      },
      () => this.#retry(),
    );
  }

  #connected(peer: ThinPeer): void {
    this.#connecting = false;
    if (this.#closed) return peer.close();
    this.#peer = peer;
    const parts = this.#unsent;
    this.#unsent = undefined;
    if (parts !== undefined) peer.sendRequest(parts);
  }

  #retry(): void {
    this.#connecting = false;
    setTimeout(() => {
      if (!this.#closed && this.#unsent !== undefined) this.#connect();
    }, RECONNECT_MS);
  }
}
