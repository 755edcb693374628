import { setImmediate as nextTurn } from 'node:timers/promises';
import { ZmqError } from './errors.ts';
import type { ZmtpConnection } from './zmtp/connection.ts';
import { encodeMessage } from './zmtp/frames.ts';
import {
  type ListenerRules,
  type ListenerStats,
  type ListenOptions,
  ZmtpListener,
} from './zmtp/listener.ts';

/** Options of a {@link PublishServer}. */
export interface PublishServerOptions extends ListenOptions {
  /** Further endpoints for the same messages: a syndic may expect a port of its own. */
  readonly furtherEndpoints?: readonly string[];
  /** Messages queued for a slow peer before more are dropped for it. Salt: `pub_hwm`, 1000. */
  readonly hwm?: number;
  /** Salt 3008: `zmq_heartbeat_ivl`, 10 s; 0 switches heartbeats off. */
  readonly heartbeatIntervalMs?: number;
  /**
   * Closes a connection after this time if it stopped answering heartbeats, or reads nothing of the
   * sent messages. Salt 3008: `zmq_heartbeat_timeout`, 30 s.
   */
  readonly heartbeatTimeoutMs?: number;
  /** Called for each connection that finished its handshake. */
  readonly onConnect?: (peer: PublishPeer) => void;
  /** Called each time a connection subscribes to a topic, or unsubscribes. */
  readonly onTopics?: (peer: PublishPeer) => void;
  /** Called for each connection that was lost after its handshake. */
  readonly onDisconnect?: (peer: PublishPeer) => void;
}

/** A subscriber's connection, the same object at each call. */
export interface PublishPeer {
  /** IP address of the other side; empty if it was gone before its handshake was read. */
  readonly address: string;
  readonly port: number;
  /** The subscribed topics. */
  readonly topics: ReadonlySet<string>;
}

/** Counters since the start. */
export interface PublishServerStats extends ListenerStats {
  readonly sent: number;
  /** Messages that slow subscribers have missed. */
  readonly dropped: number;
  /** Connections that were ended because they stopped answering heartbeats. */
  readonly silent: number;
}

/** A connection and its queue. */
interface Subscriber extends PublishPeer {
  readonly topics: Set<string>;
  pingedAt: number;
  /** Messages that wait for earlier ones to be read. */
  queued: number;
}

const DEFAULT_HWM = 1_000;
const DEFAULT_HEARTBEAT_MS = 10_000;
const DEFAULT_TIMEOUT_MS = 30_000;
// Subscriptions are short: a prefix, hex of an id with `zmq_filtering`.
const MAX_SUBSCRIPTION_BYTES = 4_096;
const MAX_TOPICS = 64;
const MAX_UNFINISHED_BYTES = 64 * 1_048_576;
/**
 * Connections that messages are written to before other work has its turn: half a millisecond.
 * libuv accepts one connection in a turn. With fewer turns, minions that reconnect to a busy
 * publisher wait in the system's queue until they give up.
 */
const AT_ONCE = 64;

/**
 * The master's side of port 4505: a PUB. It never waits for a peer: an absent or slow peer misses
 * the message. It uses plain sockets. They cost a few KB where libzmq keeps tens, and show which
 * peers are there.
 *
 * Salt: salt/transport/zeromq.py PublishServer
 */
export class PublishServer implements AsyncDisposable {
  readonly #listeners: readonly [ZmtpListener, ...ZmtpListener[]];
  readonly #subscribers: Map<ZmtpConnection, Subscriber>;
  readonly #hwm: number;
  readonly #heartbeats: Heartbeats;
  #line: Promise<void> = Promise.resolve();
  #sent = 0;
  #written = 0;
  #dropped = 0;
  #closing: Promise<void> | undefined;

  private constructor(
    listeners: readonly [ZmtpListener, ...ZmtpListener[]],
    subscribers: Map<ZmtpConnection, Subscriber>,
    hwm: number,
    heartbeats: Heartbeats,
  ) {
    this.#listeners = listeners;
    this.#subscribers = subscribers;
    this.#hwm = hwm;
    this.#heartbeats = heartbeats;
  }

  /** @throws ZmqError `SALT_ZMQ_BIND` */
  static async bind(options: PublishServerOptions): Promise<PublishServer> {
    const intervalMs = options.heartbeatIntervalMs ?? DEFAULT_HEARTBEAT_MS;
    const timeoutMs = options.heartbeatTimeoutMs ?? DEFAULT_TIMEOUT_MS;
    const subscribers = new Map<ZmtpConnection, Subscriber>();
    const heartbeats = { intervalMs, timeoutMs, silent: 0 };
    const rules: ListenerRules = {
      socketType: 'PUB',
      accepts: ['SUB', 'XSUB'],
      maxMessageBytes: MAX_SUBSCRIPTION_BYTES,
      // Not by bytes: a message to many subscribers is in memory once.
      maxUnsentBytes: Infinity,
      maxUnfinishedBytes: MAX_UNFINISHED_BYTES,
      patienceMs: timeoutMs,
      ...(intervalMs > 0 ? { lookMs: Math.min(intervalMs, timeoutMs, 1_000) } : {}),
      onReady: (connection) => {
        const { address, port } = connection;
        const about = { topics: new Set<string>(), pingedAt: performance.now(), queued: 0 };
        const subscriber = { address, port, ...about };
        subscribers.set(connection, subscriber);
        // Silence of a peer means something only after its first answer, so ping it at once.
        if (intervalMs > 0) connection.ping();
        options.onConnect?.(subscriber);
      },
      onMessage: (connection, frames) => {
        const subscriber = subscribers.get(connection);
        if (subscriber === undefined || !subscribe(subscriber.topics, frames)) return;
        options.onTopics?.(subscriber);
        if (subscriber.topics.size > MAX_TOPICS) connection.refuse();
      },
      onEnd: (connection) => {
        const subscriber = subscribers.get(connection);
        if (subscriber === undefined) return;
        subscribers.delete(connection);
        options.onDisconnect?.(subscriber);
      },
      onLook: (now, awakeSince) => {
        if (intervalMs > 0) beat(subscribers, heartbeats, now, awakeSince);
      },
    };
    const listeners = [await ZmtpListener.listen(options, rules)] as [
      ZmtpListener,
      ...ZmtpListener[],
    ];
    try {
      for (const endpoint of options.furtherEndpoints ?? []) {
        listeners.push(await ZmtpListener.listen({ ...options, endpoint }, rules));
      }
    } catch (cause) {
      await Promise.all(listeners.map((listener) => listener.close()));
      throw cause;
    }
    return new PublishServer(listeners, subscribers, options.hwm ?? DEFAULT_HWM, heartbeats);
  }

  /** With the port that was taken. */
  get endpoint(): string {
    return this.#listeners[0].endpoint;
  }

  /** All endpoints, the first one first. */
  get endpoints(): readonly string[] {
    return this.#listeners.map(({ endpoint }) => endpoint);
  }

  /** Connections that finished their handshake and are open. */
  get peers(): number {
    return this.#subscribers.size;
  }

  /** Messages sent since the start. */
  get sent(): number {
    return this.#sent;
  }

  get stats(): PublishServerStats {
    const stats = this.#listeners.map((listener) => listener.stats);
    const total = (name: keyof ListenerStats): number =>
      stats.reduce((sum, one) => sum + one[name], 0);
    return {
      connections: total('connections'),
      hungUp: total('hungUp'),
      turnedAway: total('turnedAway'),
      sent: this.#sent,
      dropped: this.#dropped,
      silent: this.#heartbeats.silent,
    };
  }

  /**
   * Sends one message, `[payload]`, or `[topic, payload]` with `zmq_filtering`, to all its
   * subscribers. Resolves when their sockets have it. Messages go out in the order of the calls.
   *
   * @throws ZmqError `SALT_ZMQ_CLOSED`
   */
  send(frames: readonly Uint8Array[]): Promise<void> {
    if (this.#closing !== undefined) {
      return Promise.reject(new ZmqError('SALT_ZMQ_CLOSED', 'the socket is closed'));
    }
    const bytes = encodeMessage(frames);
    const [first = bytes] = frames;
    const topic = Buffer.from(first.buffer, first.byteOffset, first.length);
    this.#line = this.#line.then(() => this.#deliver(bytes, topic));
    return this.#line;
  }

  /** Accepts no more connections; open ones stay and are sent to. */
  stopListening(): void {
    for (const listener of this.#listeners) void listener.stopListening();
  }

  /** Ends all connections; messages in flight get the linger time. */
  close(): Promise<void> {
    this.#closing ??= this.#line.then(async () => {
      await Promise.all(this.#listeners.map((listener) => listener.close()));
    });
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #deliver(bytes: Buffer, topic: Buffer): Promise<void> {
    // The map is live: subscribers may connect and leave while this runs.
    for (const [connection, subscriber] of this.#subscribers) {
      if (!wants(subscriber, topic)) continue;
      if (connection.unsentBytes === 0) subscriber.queued = 0;
      else subscriber.queued += 1;
      if (subscriber.queued > this.#hwm || !connection.send(bytes)) this.#dropped += 1;
      this.#written += 1;
      if (this.#written % AT_ONCE === 0) await nextTurn();
    }
    this.#sent += 1;
  }
}

/**
 * Reads a subscription: 1 or 0, then the topic (rfc.zeromq.org/spec/29). Returns false if it
 * changes nothing.
 */
function subscribe(topics: Set<string>, [message]: readonly Buffer[]): boolean {
  if (message === undefined || message.length === 0) return false;
  const topic = message.toString('latin1', 1);
  if (message[0] === 0) return topics.delete(topic);
  if (message[0] !== 1 || topics.has(topic)) return false;
  topics.add(topic);
  return true;
}

function wants({ topics }: Subscriber, topic: Buffer): boolean {
  for (const prefix of topics) {
    if (prefix === '') return true;
    if (prefix.length > topic.length) continue;
    if (topic.toString('latin1', 0, prefix.length) === prefix) return true;
  }
  return false;
}

/** The settings of heartbeats, and the number of peers without an answer. */
interface Heartbeats {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  silent: number;
}

/** Sends the pings that are due, and ends peers that have stopped answering. */
function beat(
  subscribers: ReadonlyMap<ZmtpConnection, Subscriber>,
  heartbeats: Heartbeats,
  now: number,
  awakeSince: number,
): void {
  const { intervalMs, timeoutMs } = heartbeats;
  for (const [connection, subscriber] of subscribers) {
    const silentMs = now - Math.max(connection.receivedAt, awakeSince);
    if (connection.answersPings && silentMs >= intervalMs + timeoutMs) {
      heartbeats.silent += 1;
      connection.destroy();
    } else if (now - subscriber.pingedAt >= intervalMs) {
      subscriber.pingedAt = now;
      connection.ping();
    }
  }
}
