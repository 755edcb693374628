import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenAddress, SALT_KEEPALIVE_IDLE_MS } from '../endpoint.ts';
import { ZmqError } from '../errors.ts';
import { ZmtpConnection, type ZmtpConnectionOptions } from './connection.ts';

/** Options of both servers' ports. */
export interface ListenOptions {
  /** e.g. `tcp://0.0.0.0:4506`; `*` as port takes a free one. */
  readonly endpoint: string;
  /** Connections that wait to be accepted. Salt: `zmq_backlog`, 1000. */
  readonly backlog?: number;
  /** Connections open at once; further ones are closed as they come. Default: no limit of ours. */
  readonly maxConnections?: number;
  /** An idle connection is probed after this time; 0: never. Default: 300 s, as Salt. */
  readonly keepAliveMs?: number;
  /** Time for messages in flight after `close`. */
  readonly lingerMs?: number;
  /** A socket for the address that another process has bound: two processes may listen on it. */
  readonly boundPort?: (host: string, port: number) => Promise<object | undefined>;
}

/** Counters of a listener. */
export interface ListenerStats {
  readonly connections: number;
  /** Connections ended for a breach of ZMTP, of a bound, or for an unfinished message. */
  readonly hungUp: number;
  /** Connections that came while there were too many. */
  readonly turnedAway: number;
}

/** Bounds and callbacks of a {@link ZmtpListener}. */
export interface ListenerRules extends Omit<ZmtpConnectionOptions, 'onRefused'> {
  /**
   * Bytes of incomplete messages of all peers; beyond it the latest of these peers is hung up on.
   */
  readonly maxUnfinishedBytes: number;
  /**
   * A connection is closed after this time without its handshake, without progress of a message
   * that it began, or without reading waiting bytes.
   */
  readonly patienceMs: number;
  /** How often connections are checked, in ms; default 1,000. */
  readonly lookMs?: number;
  /**
   * Called after each check of the connections. `awakeSince`: since when this process runs without
   * a pause; silence of peers before that means nothing.
   */
  readonly onLook?: (now: number, awakeSince: number) => void;
}

const DEFAULT_BACKLOG = 1_000;
/** How often a listener that is being left checks for idle connections. */
const LEAVE_LOOK_MS = 50;
/** Connections that are ended at a time: each of them connects elsewhere. */
const LEAVE_AT_ONCE = 1_000;
const DEFAULT_LOOK_MS = 1_000;
/** A longer time between two checks was a pause of this process: its peers were not silent. */
const PAUSE_MS = 5_000;
// Salt 3006.26: LINGER of the master's sockets (salt/transport/zeromq.py).
const DEFAULT_LINGER_MS = 1_000;

/** A port for ZMTP peers: accepts, bounds and ends their connections. */
export class ZmtpListener {
  readonly endpoint: string;
  /** All open connections, with or without their handshake. */
  readonly connections = new Set<ZmtpConnection>();
  readonly #server: Server;
  readonly #options: ListenOptions;
  readonly #rules: ListenerRules;
  /** Connections without a handshake, oldest first. */
  readonly #strangers = new Set<ZmtpConnection>();
  readonly #looks: NodeJS.Timeout;
  #lookedAt = performance.now();
  #awakeSince = this.#lookedAt;
  #stopped: Promise<void> | undefined;
  #hungUp = 0;
  #turnedAway = 0;

  private constructor(server: Server, options: ListenOptions, rules: ListenerRules) {
    this.#server = server;
    this.#options = options;
    this.#rules = rules;
    this.endpoint = boundEndpoint(server, options.endpoint);
    const ofConnections: ZmtpConnectionOptions = {
      ...rules,
      onReady: (connection) => {
        this.#strangers.delete(connection);
        rules.onReady(connection);
      },
      onRefused: () => (this.#hungUp += 1),
      onEnd: (connection) => {
        this.connections.delete(connection);
        this.#strangers.delete(connection);
        rules.onEnd(connection);
      },
    };
    server.on('connection', (socket) => {
      const connection = new ZmtpConnection(socket, ofConnections);
      this.connections.add(connection);
      this.#strangers.add(connection);
    });
    server.on('drop', () => (this.#turnedAway += 1));
    this.#looks = setInterval(() => this.#look(), rules.lookMs ?? DEFAULT_LOOK_MS);
    this.#looks.unref();
  }

  /** @throws ZmqError `SALT_ZMQ_BIND` */
  static async listen(options: ListenOptions, rules: ListenerRules): Promise<ZmtpListener> {
    const { endpoint, backlog = DEFAULT_BACKLOG, maxConnections } = options;
    const { keepAliveMs = SALT_KEEPALIVE_IDLE_MS } = options;
    const server = createServer({
      keepAlive: keepAliveMs > 0,
      keepAliveInitialDelay: keepAliveMs,
      noDelay: true,
    });
    if (maxConnections !== undefined) server.maxConnections = maxConnections;
    const address = listenAddress(endpoint);
    const kept = await options.boundPort?.(address.host, address.port);
    await new Promise<void>((resolve, reject) => {
      const failed = (cause: Error): void =>
        reject(new ZmqError('SALT_ZMQ_BIND', `can not bind ${endpoint}`, cause));
      const listening = (): void => {
        server.off('error', failed);
        resolve();
      };
      server.once('error', failed);
      if (kept === undefined) server.listen({ ...address, backlog }, listening);
      else server.listen(kept, backlog, listening);
    });
    return new ZmtpListener(server, options, rules);
  }

  get stats(): ListenerStats {
    return {
      connections: this.connections.size,
      hungUp: this.#hungUp,
      turnedAway: this.#turnedAway,
    };
  }

  /** Accepts no more connections; open ones stay. Resolves when the last of them has ended. */
  stopListening(): Promise<void> {
    this.#stopped ??= new Promise((resolve) => this.#server.close(() => resolve()));
    return this.#stopped;
  }

  /**
   * Accepts no more connections, and ends each open one after it was idle for `quietMs`. Resolves
   * when none is left, or after `maxMs`.
   */
  async leave(quietMs: number, maxMs: number): Promise<void> {
    void this.stopListening();
    const until = performance.now() + maxMs;
    while (this.connections.size > 0 && performance.now() < until) {
      const before = performance.now() - quietMs;
      let ended = 0;
      for (const connection of this.connections) {
        if (!connection.ready || connection.inHand > 0 || connection.keptBytes > 0) continue;
        if (connection.unsentBytes > 0 || connection.receivedAt > before) continue;
        connection.finish();
        if (++ended === LEAVE_AT_ONCE) break;
      }
      await sleep(LEAVE_LOOK_MS);
    }
  }

  /** Accepts no more connections, and ends the open ones when the kernel has all their bytes. */
  async close(): Promise<void> {
    clearInterval(this.#looks);
    const closed = this.stopListening();
    for (const connection of this.connections) connection.finish();
    const timer = setTimeout(() => {
      for (const connection of this.connections) connection.destroy();
    }, this.#options.lingerMs ?? DEFAULT_LINGER_MS);
    await closed;
    clearTimeout(timer);
  }

  /** Ends peers that stop half way or read nothing, and the latest ones beyond the common bound. */
  #look(): void {
    const { patienceMs, maxUnfinishedBytes } = this.#rules;
    const now = performance.now();
    const wasPaused = now - this.#lookedAt > PAUSE_MS;
    this.#lookedAt = now;
    if (wasPaused) {
      // Bytes that came meanwhile have not been read yet.
      this.#awakeSince = now;
      return;
    }
    const before = now - patienceMs;
    for (const connection of this.#strangers) {
      if (connection.openedAt > before) break;
      connection.refuse();
    }
    const unfinished: ZmtpConnection[] = [];
    let bytes = 0;
    for (const connection of this.connections) {
      const { keptBytes: bytesKept } = connection;
      const isSilent = bytesKept > 0 && connection.receivedAt <= before;
      if (isSilent || connection.unreadMs(now) >= patienceMs) {
        connection.refuse();
      } else if (bytesKept > 0) {
        unfinished.push(connection);
        bytes += bytesKept;
      }
    }
    // The latest peer loses least when it has to send again.
    if (bytes > maxUnfinishedBytes) unfinished.sort((a, b) => b.openedAt - a.openedAt);
    for (const connection of unfinished) {
      if (bytes <= maxUnfinishedBytes) break;
      bytes -= connection.keptBytes;
      connection.refuse();
    }
    this.#rules.onLook?.(now, this.#awakeSince);
  }
}

/** The endpoint with the bound port. */
function boundEndpoint(server: Server, endpoint: string): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return endpoint;
  return endpoint.replace(/:[^:]*$/, `:${address.port}`);
}
