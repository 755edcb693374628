import { Publisher } from 'zeromq';

import { isIpv6Endpoint, SALT_TCP_KEEPALIVE } from './endpoint.ts';
import { ZmqError } from './errors.ts';
import { SendQueue } from './send-queue.ts';

/** How a {@link PublishServer} is bound. */
export interface PublishServerOptions {
  /** e.g. `tcp://0.0.0.0:4505`; `*` as port takes a free one. */
  readonly endpoint: string;
  /** Messages held per slow peer before more are dropped for it. Salt: `pub_hwm`, 1000. */
  readonly hwm?: number;
  /** Salt: `zmq_backlog`, 1000. */
  readonly backlog?: number;
  /** Salt 3008: `zmq_heartbeat_ivl`, 10 s; 0 switches heartbeats off. */
  readonly heartbeatIntervalMs?: number;
  /**
   * A connection whose other end acknowledges nothing for so long is closed. Salt 3008:
   * `zmq_heartbeat_timeout`, 30 s.
   */
  readonly heartbeatTimeoutMs?: number;
  /** Time for messages under way after {@link PublishServer.close}. */
  readonly lingerMs?: number;
  /** Called for each connection that finished its handshake. */
  readonly onConnect?: () => void;
  /** Called for each connection that was lost. */
  readonly onDisconnect?: () => void;
}

const DEFAULT_LINGER_MS = 1000;

/**
 * The master's side of port 4505: a PUB. It never waits for a peer: who is absent or too slow
 * misses the message.
 *
 * Salt: salt/transport/zeromq.py PublishServer
 */
export class PublishServer implements AsyncDisposable {
  readonly endpoint: string;
  readonly #socket: Publisher;
  readonly #messages: SendQueue;
  #peers = 0;
  #sent = 0;
  #closing: Promise<void> | undefined;

  private constructor(socket: Publisher, endpoint: string) {
    this.#socket = socket;
    this.endpoint = endpoint;
    this.#messages = new SendQueue({ send: (frames) => socket.send(frames as Uint8Array[]) });
  }

  /** @throws ZmqError `SALT_ZMQ_BIND` */
  static async bind(options: PublishServerOptions): Promise<PublishServer> {
    const hwm = options.hwm ?? 1000;
    const socket = new Publisher({
      ...SALT_TCP_KEEPALIVE,
      ipv6: isIpv6Endpoint(options.endpoint),
      backlog: options.backlog ?? 1000,
      sendHighWaterMark: hwm,
      heartbeatInterval: options.heartbeatIntervalMs ?? 10_000,
      // Not libzmq's own time-out: a timer for each PING under way, found again for each PONG by
      // walking through all timers of the thread. With 10,000 minions that was 1 s of CPU in every
      // 10 s, in which no publication went out. The kernel does it for each connection by itself
      // (TCP_USER_TIMEOUT), with the PINGs to be acknowledged.
      heartbeatTimeout: 0,
      tcpMaxRetransmitTimeout: options.heartbeatTimeoutMs ?? 30_000,
      linger: options.lingerMs ?? DEFAULT_LINGER_MS,
    });
    const events = socket.events;
    try {
      await socket.bind(options.endpoint);
    } catch (error) {
      socket.close();
      throw new ZmqError('SALT_ZMQ_BIND', `can not bind ${options.endpoint}`, error);
    }
    const server = new PublishServer(socket, socket.lastEndpoint ?? options.endpoint);
    events.on('handshake', () => {
      server.#peers += 1;
      options.onConnect?.();
    });
    events.on('disconnect', () => {
      // A connection that broke before its handshake was never counted.
      server.#peers = Math.max(0, server.#peers - 1);
      options.onDisconnect?.();
    });
    return server;
  }

  /** Connections that finished their handshake and were not lost since (monitor events). */
  get peers(): number {
    return this.#peers;
  }

  /** Messages handed to libzmq since the start. */
  get sent(): number {
    return this.#sent;
  }

  /**
   * Hands one message to libzmq: `[payload]`, or `[topic, payload]` with `zmq_filtering`.
   *
   * @throws ZmqError `SALT_ZMQ_CLOSED`
   */
  async send(frames: readonly Uint8Array[]): Promise<void> {
    await this.#messages.send(frames);
    this.#sent += 1;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#messages.idle();
    this.#messages.close();
    this.#socket.close();
  }
}
