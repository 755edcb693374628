import { Subscriber as SubSocket } from 'zeromq';
import { isIpv6Endpoint, SALT_TCP_KEEPALIVE } from './endpoint.ts';
import { ZmqError } from './errors.ts';

/** Options of a {@link Subscriber}. */
export interface SubscriberOptions {
  /** e.g. `tcp://127.0.0.1:4505` */
  readonly endpoint: string;
  /** Prefixes to receive; default all. With `zmq_filtering`: `broadcast` and the own topic. */
  readonly topics?: readonly string[];
  /** Salt: `recon_default`, ms. */
  readonly reconnectMs?: number;
  /** Salt: `recon_max`, ms. */
  readonly reconnectMaxMs?: number;
  /** Salt: `recon_randomize`: the wait is drawn once, so that a fleet comes back spread out. */
  readonly reconnectRandomize?: boolean;
  /** Draws the wait; a number in [0, 1). */
  readonly random?: () => number;
  /** Longest message in bytes; -1 (default) for no limit. */
  readonly maxMessageBytes?: number;
  readonly onConnect?: () => void;
  readonly onDisconnect?: () => void;
}

const DEFAULT_RECONNECT_MS = 1000;
const DEFAULT_RECONNECT_MAX_MS = 10_000;

/**
 * A minion's side of port 4505: a SUB that yields messages as frames until it is closed, and
 * reconnects by itself.
 *
 * Salt: salt/transport/zeromq.py PublishClient
 */
export class Subscriber implements AsyncIterable<readonly Buffer[]>, AsyncDisposable {
  readonly #socket: SubSocket;
  #closing: Promise<void> | undefined;

  constructor(options: SubscriberOptions) {
    const socket = new SubSocket({
      ...SALT_TCP_KEEPALIVE,
      ipv6: isIpv6Endpoint(options.endpoint),
      linger: 0,
      maxMessageSize: options.maxMessageBytes ?? -1,
      reconnectInterval: reconnectInterval(options),
      reconnectMaxInterval: options.reconnectMaxMs ?? DEFAULT_RECONNECT_MAX_MS,
    });
    if (options.onConnect !== undefined) socket.events.on('handshake', options.onConnect);
    if (options.onDisconnect !== undefined) socket.events.on('disconnect', options.onDisconnect);
    socket.connect(options.endpoint);
    socket.subscribe(...(options.topics ?? ['']));
    this.#socket = socket;
  }

  /** For one consumer. @throws ZmqError `SALT_ZMQ_SOCKET` */
  async *[Symbol.asyncIterator](): AsyncGenerator<readonly Buffer[], void, undefined> {
    while (!this.#socket.closed) {
      let frames: readonly Buffer[];
      try {
        frames = await this.#socket.receive();
      } catch (error) {
        if (this.#closing !== undefined) return;
        throw new ZmqError('SALT_ZMQ_SOCKET', 'reading publications failed', error);
      }
      yield frames;
    }
  }

  close(): Promise<void> {
    this.#closing ??= Promise.resolve(this.#socket.close());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Salt: salt/transport/zeromq.py, `recon_default` + random up to `recon_max`. */
function reconnectInterval(options: SubscriberOptions): number {
  const base = options.reconnectMs ?? DEFAULT_RECONNECT_MS;
  if (options.reconnectRandomize === false) return base;
  const random = options.random ?? Math.random;
  return base + Math.floor(random() * (options.reconnectMaxMs ?? DEFAULT_RECONNECT_MAX_MS));
}
