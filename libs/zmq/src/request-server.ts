import { createServer, type Server, type Socket } from 'node:net';
import { listenAddress, SALT_KEEPALIVE_IDLE_MS } from './endpoint.ts';
import { ZmqError } from './errors.ts';
import { ZmtpConnection, type ZmtpConnectionOptions } from './zmtp-connection.ts';

/** How a {@link RequestServer} is bound. */
export interface RequestServerOptions {
  /** e.g. `tcp://0.0.0.0:4506`; `*` as port takes a free one. */
  readonly endpoint: string;
  /** Longest message in bytes; a peer that announces more is hung up on. */
  readonly maxMessageBytes: number;
  /** Connections that wait to be accepted. Salt: `zmq_backlog`, 1000. */
  readonly backlog?: number;
  /** Connections open at once; further ones are closed as they come. Default: no limit of ours. */
  readonly maxConnections?: number;
  /** Requests of one connection without an answer, beyond which it is hung up on. */
  readonly perPeerQueue?: number;
  /** Bytes of messages of all peers that have not come whole; who goes beyond it is hung up on. */
  readonly maxUnfinishedBytes?: number;
  /**
   * A connection is closed after so long without its handshake, without anything more of a message
   * that it began, or without reading anything of its replies.
   */
  readonly patienceMs?: number;
  /** Time for replies under way after {@link RequestServer.close}. */
  readonly lingerMs?: number;
}

/** Who asked: one connection. */
export interface ZmqPeer {
  /** True once it has hung up: nobody is there to hear an answer. */
  readonly gone: boolean;
  /** IP address of the other side; empty where it has gone. */
  readonly address: string;
}

/** One request as it came: who asked (for the reply) and the payload frame. */
export interface ZmqRequest {
  readonly peer: ZmqPeer;
  readonly body: Buffer;
}

/** Counters since the start. */
export interface RequestServerStats {
  readonly connections: number;
  readonly received: number;
  readonly replied: number;
  /** Messages without the empty delimiter: not from a Salt peer. */
  readonly malformed: number;
  /** Connections hung up on: no ZMTP, a message too long, too much at once, silent half way. */
  readonly hungUp: number;
  /** Connections that came while there were too many. */
  readonly turnedAway: number;
}

// A REQ has one request in flight; a few more are allowed for other kinds of peers.
const DEFAULT_PER_PEER_QUEUE = 64;
const DEFAULT_BACKLOG = 1_000;
// libzmq's ZMQ_HANDSHAKE_IVL.
const DEFAULT_PATIENCE_MS = 30_000;
const LOOK_MS = 1_000;
// Salt 3006.26: LINGER of the master's ROUTER (salt/transport/zeromq.py).
const DEFAULT_LINGER_MS = 1_000;
// Several messages of the largest size may be on their way.
const UNFINISHED_MESSAGES = 8;
// One reply of the largest size may wait for its reader, and small ones behind it.
const UNSENT_MESSAGES = 2;

/**
 * The master's side of port 4506: hands out requests one by one and takes replies in any order, as
 * a ROUTER does. Over plain sockets, because libzmq does not tell whether a peer still listens,
 * bounds no message of many frames, and costs tens of KB for a connection.
 *
 * Salt: salt/transport/zeromq.py RequestServer
 */
export class RequestServer implements AsyncIterable<ZmqRequest>, AsyncDisposable {
  readonly endpoint: string;
  readonly #server: Server;
  readonly #options: RequestServerOptions;
  readonly #ofConnections: ZmtpConnectionOptions;
  readonly #connections = new Set<ZmtpConnection>();
  /** Connections without a handshake, oldest first. */
  readonly #strangers = new Set<ZmtpConnection>();
  readonly #looks: NodeJS.Timeout;
  #waiting: ZmqRequest[] = [];
  #wake: (() => void) | undefined;
  #received = 0;
  #replied = 0;
  #malformed = 0;
  #hungUp = 0;
  #turnedAway = 0;
  #closing: Promise<void> | undefined;

  private constructor(server: Server, options: RequestServerOptions, endpoint: string) {
    this.#server = server;
    this.#options = options;
    this.endpoint = endpoint;
    const { maxMessageBytes } = options;
    this.#ofConnections = {
      accepts: ['REQ', 'DEALER', 'ROUTER'],
      maxMessageBytes,
      maxUnsentBytes: UNSENT_MESSAGES * maxMessageBytes,
      onReady: (connection) => this.#strangers.delete(connection),
      onMessage: (connection, frames) => this.#take(connection, frames),
      onRefused: () => (this.#hungUp += 1),
      onEnd: (connection) => this.#ended(connection),
    };
    server.on('connection', (socket) => this.#accept(socket));
    server.on('drop', () => (this.#turnedAway += 1));
    this.#looks = setInterval(() => this.#look(), LOOK_MS);
    this.#looks.unref();
  }

  /** @throws ZmqError `SALT_ZMQ_BIND` */
  static async bind(options: RequestServerOptions): Promise<RequestServer> {
    const server = createServer({
      keepAlive: true,
      keepAliveInitialDelay: SALT_KEEPALIVE_IDLE_MS,
      noDelay: true,
    });
    if (options.maxConnections !== undefined) server.maxConnections = options.maxConnections;
    const place = {
      ...listenAddress(options.endpoint),
      backlog: options.backlog ?? DEFAULT_BACKLOG,
    };
    await new Promise<void>((resolve, reject) => {
      const failed = (cause: Error): void =>
        reject(new ZmqError('SALT_ZMQ_BIND', `can not bind ${options.endpoint}`, cause));
      server.once('error', failed);
      server.listen(place, () => {
        server.off('error', failed);
        resolve();
      });
    });
    return new RequestServer(server, options, boundEndpoint(server, options.endpoint));
  }

  get stats(): RequestServerStats {
    return {
      connections: this.#connections.size,
      received: this.#received,
      replied: this.#replied,
      malformed: this.#malformed,
      hungUp: this.#hungUp,
      turnedAway: this.#turnedAway,
    };
  }

  /** Requests in order of arrival, until the server is closed. For one consumer. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ZmqRequest, void, undefined> {
    for (;;) {
      const group = this.#waiting;
      this.#waiting = [];
      yield* group;
      if (this.#waiting.length > 0) continue;
      if (this.#closing !== undefined) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Sends the reply; false where nobody is there any more to take it. */
  reply(peer: ZmqPeer, body: Uint8Array): boolean {
    const connection = peer as ZmtpConnection;
    connection.inHand = Math.max(0, connection.inHand - 1);
    const sent = connection.reply(body);
    if (sent) this.#replied += 1;
    return sent;
  }

  /** Ends the iteration; replies under way get the linger time. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    this.#wake?.();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #accept(socket: Socket): void {
    const connection = new ZmtpConnection(socket, this.#ofConnections);
    this.#connections.add(connection);
    this.#strangers.add(connection);
  }

  #take(connection: ZmtpConnection, frames: readonly Buffer[]): void {
    const [delimiter, body] = frames;
    // Frames past the second are not looked at, as a stock 3008 master does.
    if (delimiter?.length !== 0 || body === undefined) {
      this.#malformed += 1;
      return;
    }
    connection.inHand += 1;
    if (connection.inHand > (this.#options.perPeerQueue ?? DEFAULT_PER_PEER_QUEUE)) {
      connection.refuse();
      return;
    }
    this.#received += 1;
    this.#waiting.push({ peer: connection, body });
    this.#wake?.();
  }

  #ended(connection: ZmtpConnection): void {
    this.#connections.delete(connection);
    this.#strangers.delete(connection);
  }

  /** Ends what is silent half way, who reads nothing, and the last of what is too much together. */
  #look(): void {
    const { maxMessageBytes, patienceMs = DEFAULT_PATIENCE_MS } = this.#options;
    const { maxUnfinishedBytes = UNFINISHED_MESSAGES * maxMessageBytes } = this.#options;
    const now = performance.now();
    const before = now - patienceMs;
    for (const connection of this.#strangers) {
      if (connection.openedAt > before) break;
      connection.refuse();
    }
    const unfinished: ZmtpConnection[] = [];
    let bytes = 0;
    for (const connection of this.#connections) {
      const { heldBytes } = connection;
      const isSilent = heldBytes > 0 && connection.heardAt <= before;
      if (isSilent || connection.unreadMs(now) >= patienceMs) {
        connection.refuse();
      } else if (heldBytes > 0) {
        unfinished.push(connection);
        bytes += heldBytes;
      }
    }
    if (bytes <= maxUnfinishedBytes) return;
    // Who came last has lost least by coming again.
    unfinished.sort((a, b) => b.openedAt - a.openedAt);
    for (const connection of unfinished) {
      if (bytes <= maxUnfinishedBytes) return;
      bytes -= connection.heldBytes;
      connection.refuse();
    }
  }

  async #close(): Promise<void> {
    clearInterval(this.#looks);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.finish();
    const timer = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy();
    }, this.#options.lingerMs ?? DEFAULT_LINGER_MS);
    await closed;
    clearTimeout(timer);
  }
}

/** The endpoint with the port that was taken. */
function boundEndpoint(server: Server, endpoint: string): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return endpoint;
  return endpoint.replace(/:[^:]*$/, `:${address.port}`);
}
