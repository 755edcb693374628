import type { ZmtpConnection } from './zmtp/connection.ts';
import { encodeRequest, requestHead } from './zmtp/frames.ts';
import { type ListenerStats, type ListenOptions, ZmtpListener } from './zmtp/listener.ts';

/** Options of a {@link RequestServer}. */
export interface RequestServerOptions extends ListenOptions {
  /** Longest message in bytes; a peer that announces more is hung up on. */
  readonly maxMessageBytes: number;
  /** Requests of one connection without an answer, beyond which it is hung up on. */
  readonly perPeerQueue?: number;
  /**
   * Bytes of incomplete messages of all peers; beyond it the latest of these peers is hung up on.
   */
  readonly maxUnfinishedBytes?: number;
  /** See `ListenerRules`. */
  readonly patienceMs?: number;
}

/** The connection that a request came from. */
export interface ZmqPeer {
  /** True once the connection has ended, so that no answer can reach the peer. */
  readonly gone: boolean;
  /** IP address of the other side; empty after the connection has ended. */
  readonly address: string;
}

/** A request as received: its peer (for the reply) and the payload frame. */
export interface ZmqRequest {
  readonly peer: ZmqPeer;
  readonly body: Buffer;
}

/** Counters since the start. */
export interface RequestServerStats extends ListenerStats {
  readonly received: number;
  readonly replied: number;
  /** Messages without the empty delimiter: not from a Salt peer. */
  readonly malformed: number;
}

// A REQ has one request in flight; a few more are allowed for other kinds of peers.
const DEFAULT_PER_PEER_QUEUE = 64;
// libzmq's ZMQ_HANDSHAKE_IVL.
const DEFAULT_PATIENCE_MS = 30_000;
// Several messages of the largest size may be in flight.
const UNFINISHED_MESSAGES = 8;
// One reply of the largest size may wait for its reader, and small ones behind it.
const UNSENT_MESSAGES = 2;
// A REQ sends its request right after its handshake, and the next one right after an answer.
const LEAVE_QUIET_MS = 250;
// Beyond this a copy costs more than a second buffer to write.
const COPY_MAX_BYTES = 16_384;

/**
 * The master's side of port 4506: hands out requests one by one and accepts replies in any order,
 * as a ROUTER does. It uses plain sockets: libzmq does not show whether a peer still listens, has
 * no bound for a message of many frames, and needs tens of KB for a connection.
 *
 * Salt: salt/transport/zeromq.py RequestServer
 */
export class RequestServer implements AsyncIterable<ZmqRequest>, AsyncDisposable {
  readonly #listener: ZmtpListener;
  readonly #incoming: Incoming;
  #replied = 0;
  #closing: Promise<void> | undefined;

  private constructor(listener: ZmtpListener, incoming: Incoming) {
    this.#listener = listener;
    this.#incoming = incoming;
  }

  /** @throws ZmqError `SALT_ZMQ_BIND` */
  static async bind(options: RequestServerOptions): Promise<RequestServer> {
    const { maxMessageBytes, patienceMs = DEFAULT_PATIENCE_MS } = options;
    const incoming = new Incoming(options.perPeerQueue ?? DEFAULT_PER_PEER_QUEUE);
    const listener = await ZmtpListener.listen(options, {
      socketType: 'ROUTER',
      accepts: ['REQ', 'DEALER', 'ROUTER'],
      maxMessageBytes,
      maxUnsentBytes: UNSENT_MESSAGES * maxMessageBytes,
      maxUnfinishedBytes: options.maxUnfinishedBytes ?? UNFINISHED_MESSAGES * maxMessageBytes,
      patienceMs,
      onReady: () => undefined,
      onMessage: (connection, frames) => incoming.take(connection, frames),
      onEnd: () => undefined,
    });
    return new RequestServer(listener, incoming);
  }

  /** With the bound port. */
  get endpoint(): string {
    return this.#listener.endpoint;
  }

  get stats(): RequestServerStats {
    const { received, malformed } = this.#incoming;
    return { ...this.#listener.stats, received, replied: this.#replied, malformed };
  }

  /** Requests in order of arrival, until the server is closed. For one consumer. */
  [Symbol.asyncIterator](): AsyncIterator<ZmqRequest, void, undefined> {
    return this.#incoming;
  }

  /** Sends the reply; false if the peer's connection has ended. */
  reply(peer: ZmqPeer, body: Uint8Array): boolean {
    const connection = peer as ZmtpConnection;
    connection.inHand = Math.max(0, connection.inHand - 1);
    const isSent =
      body.length <= COPY_MAX_BYTES
        ? connection.send(encodeRequest([body]))
        : connection.send(requestHead(body.length), body);
    if (isSent) this.#replied += 1;
    return isSent;
  }

  /**
   * Accepts no more connections, and ends those without a request in flight; others may send more
   * requests and are answered. Resolves when none is left, or after `maxMs`.
   */
  leave(maxMs: number): Promise<void> {
    return this.#listener.leave(LEAVE_QUIET_MS, maxMs);
  }

  /** Ends the iteration; replies in flight get the linger time. */
  close(): Promise<void> {
    this.#incoming.end();
    this.#closing ??= this.#listener.close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

type Next = IteratorResult<ZmqRequest, void>;

const END: Next = { done: true, value: undefined };

/** Requests that wait for the consumer. A generator would make three promises for each. */
class Incoming implements AsyncIterator<ZmqRequest, void, undefined> {
  received = 0;
  malformed = 0;
  readonly #perPeer: number;
  /** Requests that the consumer gets before all waiting ones, and the index of the next one. */
  #group: readonly ZmqRequest[] = [];
  #at = 0;
  #waiting: ZmqRequest[] = [];
  #wake: ((next: Next) => void) | undefined;
  #ended = false;

  constructor(perPeer: number) {
    this.#perPeer = perPeer;
  }

  take(connection: ZmtpConnection, frames: readonly Buffer[]): void {
    const [delimiter, body] = frames;
    // Frames past the second are ignored, as by a stock 3008 master.
    if (delimiter?.length !== 0 || body === undefined) {
      this.malformed += 1;
      return;
    }
    connection.inHand += 1;
    if (connection.inHand > this.#perPeer) {
      connection.refuse();
      return;
    }
    this.received += 1;
    const request: ZmqRequest = { peer: connection, body };
    if (this.#wake === undefined) this.#waiting.push(request);
    else this.#wakeWith({ done: false, value: request });
  }

  end(): void {
    this.#ended = true;
    this.#wakeWith(END);
  }

  next(): Promise<Next> {
    if (this.#at === this.#group.length) {
      this.#group = this.#waiting;
      this.#at = 0;
      this.#waiting = [];
    }
    const value = this.#group[this.#at];
    if (value !== undefined) {
      this.#at += 1;
      return Promise.resolve({ done: false, value });
    }
    if (this.#ended) return Promise.resolve(END);
    return new Promise((wake) => (this.#wake = wake));
  }

  #wakeWith(next: Next): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.(next);
  }
}
