import { Router } from 'zeromq';

import { isIpv6Endpoint, SALT_TCP_KEEPALIVE } from './endpoint.ts';
import { ZmqError } from './errors.ts';
import { ReplyTurns } from './reply-turns.ts';
import { SendQueue } from './send-queue.ts';

/** How a {@link RequestServer} is bound. */
export interface RequestServerOptions {
  /** e.g. `tcp://0.0.0.0:4506`; `*` as port takes a free one. */
  readonly endpoint: string;
  /** Longest frame in bytes; a peer that announces more is disconnected by libzmq. */
  readonly maxMessageBytes: number;
  /** Connections that wait to be accepted. Salt: `zmq_backlog`, 1000. */
  readonly backlog?: number;
  /** Requests of one peer held by libzmq before it stops reading from that peer's connection. */
  readonly perPeerQueue?: number;
  /** Time for replies under way after {@link RequestServer.close}. */
  readonly lingerMs?: number;
}

/** One request as it came: who asked (for the reply only) and the payload frame. */
export interface ZmqRequest {
  /** Routing id of the peer; good for {@link RequestServer.reply} and nothing else. */
  readonly peer: Buffer;
  readonly body: Buffer;
  /** Which of the peer's requests this is; 0 for peers whose routing id is never used again. */
  readonly turn: number;
}

/** Counters since the start. */
export interface RequestServerStats {
  readonly received: number;
  readonly replied: number;
  /** Messages without the empty delimiter: not from a Salt peer. */
  readonly malformed: number;
  /** Replies withheld because their peer had asked something else meanwhile. */
  readonly stale: number;
}

// A REQ has one request in flight; a few more are allowed for peers that reuse an identity.
const DEFAULT_PER_PEER_QUEUE = 64;
// Salt 3006.26: LINGER of the master's ROUTER (salt/transport/zeromq.py).
const DEFAULT_LINGER_MS = 1000;

/**
 * The master's side of port 4506: a ROUTER that hands out requests one by one and takes replies
 * in any order. Reading stops while the consumer does not ask for the next request, and libzmq
 * then stops reading from the connections: that is the back pressure.
 *
 * Salt: salt/transport/zeromq.py RequestServer
 */
export class RequestServer implements AsyncIterable<ZmqRequest>, AsyncDisposable {
  readonly endpoint: string;
  readonly #socket: Router;
  readonly #replies: SendQueue;
  readonly #turns = new ReplyTurns();
  #received = 0;
  #replied = 0;
  #malformed = 0;
  #stale = 0;
  #closing: Promise<void> | undefined;

  private constructor(socket: Router, endpoint: string) {
    this.#socket = socket;
    this.endpoint = endpoint;
    this.#replies = new SendQueue({ send: (frames) => socket.send(frames as Uint8Array[]) });
  }

  /** @throws ZmqError `SALT_ZMQ_BIND` */
  static async bind(options: RequestServerOptions): Promise<RequestServer> {
    const perPeerQueue = options.perPeerQueue ?? DEFAULT_PER_PEER_QUEUE;
    const socket = new Router({
      ...SALT_TCP_KEEPALIVE,
      handover: true,
      ipv6: isIpv6Endpoint(options.endpoint),
      backlog: options.backlog ?? 1000,
      maxMessageSize: options.maxMessageBytes,
      receiveHighWaterMark: perPeerQueue,
      sendHighWaterMark: perPeerQueue,
      linger: options.lingerMs ?? DEFAULT_LINGER_MS,
    });
    try {
      await socket.bind(options.endpoint);
    } catch (error) {
      socket.close();
      throw new ZmqError('SALT_ZMQ_BIND', `can not bind ${options.endpoint}`, error);
    }
    return new RequestServer(socket, socket.lastEndpoint ?? options.endpoint);
  }

  get stats(): RequestServerStats {
    return {
      received: this.#received,
      replied: this.#replied,
      malformed: this.#malformed,
      stale: this.#stale,
    };
  }

  /** Requests in order of arrival, until the server is closed. For one consumer. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ZmqRequest, void, undefined> {
    while (!this.#socket.closed) {
      let frames: readonly Buffer[];
      try {
        frames = await this.#socket.receive();
      } catch (error) {
        if (this.#closing !== undefined) return;
        throw new ZmqError('SALT_ZMQ_SOCKET', 'reading requests failed', error);
      }
      const [peer, delimiter, body] = frames;
      if (peer === undefined || delimiter === undefined || body === undefined) {
        this.#malformed += 1;
        continue;
      }
      if (delimiter.length !== 0) {
        this.#malformed += 1;
        continue;
      }
      // Frames past the third are not looked at, as a stock 3008 master does.
      this.#received += 1;
      yield { peer, body, turn: this.#turns.open(peer) };
    }
  }

  /**
   * Hands the reply to libzmq. A peer that has gone is no error: the reply is dropped. Given the
   * request's `turn`, a reply is withheld when its peer has asked again since: a REQ without
   * correlation would take it for the answer to its newer request.
   *
   * @throws ZmqError `SALT_ZMQ_CLOSED`
   */
  async reply(peer: Uint8Array, body: Uint8Array, turn = 0): Promise<void> {
    if (!this.#turns.close(peer, turn)) {
      this.#stale += 1;
      return;
    }
    await this.#replies.send([peer, EMPTY_FRAME, body]);
    this.#replied += 1;
  }

  /** Ends the iteration; replies under way get the linger time. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#replies.idle();
    this.#replies.close();
    this.#socket.close();
  }
}

const EMPTY_FRAME = Buffer.alloc(0);
