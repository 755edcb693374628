import { randomBytes } from 'node:crypto';
import { sleepUnless } from '@brine/tasks';
import type { ConnectionOptions, NatsConnection } from '@nats-io/nats-core';
import { PermissionViolationError } from '@nats-io/nats-core';
import { Asides } from '../streams/asides.ts';
import type { ServiceName } from '../subjects/names.ts';
import { answerInbox, SERVICE_INBOXES, STREAMS_API, STREAMS_API_APART } from '../subjects/names.ts';
import type { BusOptions } from './bus-options.ts';
import { connectGathering } from './client-internals.ts';
import { asError, BusError } from './errors.ts';
import { Inbox } from './inbox.ts';
import { isAtLeast, NATS_FLOOR } from './server-version.ts';
import { endOfCertificate, readServers } from './servers.ts';
import { TimerWheel } from './timer-wheel.ts';

/** The state of a connection. */
export type BusStatus = 'connected' | 'reconnecting' | 'closed';

const RETRY_MS = 250;

/**
 * Connects to NATS, and waits for it up to a bound. Once connected it reconnects without end.
 * @throws BusError `BUS_UNREACHABLE`; `BUS_EXPOSED` beyond loopback without TLS,
 * `BUS_NO_CERTIFICATE`; `BUS_SERVER_TOO_OLD` for a server below the floor.
 */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const { options: natsOptions, shown } = connectionOptions(options);
  const nc = await connectWithin(natsOptions, shown, options);
  const version = nc.info?.version ?? '0';
  if (!isAtLeast(version, NATS_FLOOR)) {
    await nc.close();
    const text = `the NATS server at ${shown} is ${version}; ${NATS_FLOOR} or newer is needed`;
    throw new BusError('BUS_SERVER_TOO_OLD', text);
  }
  return new Bus(nc, options, natsOptions);
}

/** One connection to NATS, with its inbox, timers and large bodies. Made by {@link connectBus}. */
export class Bus {
  readonly name: ServiceName;
  /** Resolves when the connection is over, with the reason unless it was asked for. */
  readonly closed: Promise<Error | undefined>;
  /** Messages that the readers of this connection skipped. */
  readonly asides: Asides;
  /** For this library only: the client's connection. */
  readonly connection: NatsConnection;
  /** For this library only: the multiplexer of the server's answers. */
  readonly inbox: Inbox;
  /** For this library only: time-outs. */
  readonly wheel: TimerWheel;
  /** For this library only: the prefix of this connection's inboxes. */
  readonly inboxPrefix: string;
  #answers: Inbox | undefined;
  readonly #natsOptions: ConnectionOptions;
  readonly #onReconnect = new Set<() => void>();
  readonly #onDisconnect = new Set<() => void>();
  #status: BusStatus = 'connected';
  #reconnects = 0;
  #bodies: Promise<Bus> | undefined;
  #closing: Promise<void> | undefined;

  constructor(nc: NatsConnection, options: BusOptions, natsOptions: ConnectionOptions) {
    this.name = options.name;
    this.asides = new Asides(options.onQuarantined);
    this.connection = nc;
    this.#natsOptions = natsOptions;
    this.wheel = new TimerWheel();
    this.inboxPrefix = randomBelow(SERVICE_INBOXES[options.name]);
    this.inbox = new Inbox(nc, `${this.inboxPrefix}.i`, this.wheel);
    this.closed = nc.closed().then((error) => this.#ended(error));
    void this.#follow();
  }

  get status(): BusStatus {
    return this.#status;
  }

  /** For this library only: as `inbox`, for answers of services, which must not know that inbox. */
  get answers(): Inbox {
    this.#answers ??= new Inbox(this.connection, randomBelow(answerInbox(this.name)), this.wheel);
    return this.#answers;
  }

  /** When the certificate file of this service expires, Unix ms; undefined without TLS. */
  get certificateEnd(): number | undefined {
    const { tls } = this.#natsOptions;
    return tls?.certFile === undefined ? undefined : endOfCertificate(tls.certFile);
  }

  /** How often the connection came back. */
  get reconnects(): number {
    return this.#reconnects;
  }

  /** Calls back after each reconnect; the function that comes back ends that. */
  onReconnect(callback: () => void): () => void {
    this.#onReconnect.add(callback);
    return () => void this.#onReconnect.delete(callback);
  }

  /** Calls back each time the connection is lost; the function that comes back ends that. */
  onDisconnect(callback: () => void): () => void {
    this.#onDisconnect.add(callback);
    return () => void this.#onDisconnect.delete(callback);
  }

  /** Resolves once the server has all that was published before. */
  async flush(): Promise<void> {
    await this.connection.flush();
  }

  /** For this library only: a second connection, so that large bodies do not delay small ones. */
  forBodies(): Promise<Bus> {
    if (this.#closing !== undefined) {
      return Promise.reject(new BusError('BUS_CLOSED', 'the connection is closed'));
    }
    this.#bodies ??= this.#connectAgain();
    return this.#bodies;
  }

  /** Sends what is still to be sent, then closes. Calling it again returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #connectAgain(): Promise<Bus> {
    try {
      const nc = await connectGathering(this.#natsOptions);
      return new Bus(nc, { url: '', name: this.name }, this.#natsOptions);
    } catch (error) {
      this.#bodies = undefined;
      throw new BusError('BUS_UNREACHABLE', 'no second connection for large bodies', error);
    }
  }

  async #close(): Promise<void> {
    const bodies = await this.#bodies?.catch(() => undefined); // it never came to be
    await bodies?.close();
    if (!this.connection.isClosed()) {
      // A drain waits for the server, so it would not end without one.
      if (this.#status === 'connected') await this.connection.drain();
      else await this.connection.close();
    }
    await this.closed;
  }

  #ended(error: Error | void): Error | undefined {
    this.#status = 'closed';
    this.wheel.close();
    const reason = error instanceof Error ? error : undefined;
    const closed = new BusError('BUS_CLOSED', 'the connection is closed', reason);
    this.inbox.failAll(closed);
    this.#answers?.failAll(closed);
    this.#onReconnect.clear();
    this.#onDisconnect.clear();
    return reason;
  }

  async #follow(): Promise<void> {
    for await (const event of this.connection.status()) {
      if (event.type === 'disconnect') {
        if (this.#status !== 'connected') continue;
        this.#status = 'reconnecting';
        for (const callback of [...this.#onDisconnect]) callback();
      } else if (event.type === 'reconnect') {
        this.#status = 'connected';
        this.#reconnects += 1;
        this.inbox.reconnected();
        this.#answers?.reconnected();
        for (const callback of [...this.#onReconnect]) callback();
      } else if (event.type === 'error' && event.error instanceof PermissionViolationError) {
        const { operation, subject } = event.error;
        if (operation !== 'publish') continue;
        this.inbox.refuse(asSent(subject), event.error);
        this.#answers?.refuse(subject, event.error);
      }
    }
  }
}

/** A subject that no other client can guess. */
function randomBelow(root: string): string {
  return `${root}.${randomBytes(9).toString('base64url')}`;
}

/** A server with accounts names what it made of the subject. */
function asSent(subject: string): string {
  if (!subject.startsWith(STREAMS_API_APART)) return subject;
  return `${STREAMS_API}${subject.slice(STREAMS_API_APART.length)}`;
}

async function connectWithin(
  natsOptions: ConnectionOptions,
  shown: string,
  options: BusOptions,
): Promise<NatsConnection> {
  const until = performance.now() + (options.connectTimeoutMs ?? 30_000);
  for (;;) {
    try {
      return await connectGathering(natsOptions);
    } catch (error) {
      const left = until - performance.now();
      const hopeless = asError(error).name === 'AuthorizationError';
      if (options.signal?.aborted === true || left <= RETRY_MS || hopeless) {
        const text = `no NATS server answers at ${shown}: ${asError(error).message}`;
        throw new BusError('BUS_UNREACHABLE', text, error);
      }
      await sleepUnless(RETRY_MS, options.signal);
    }
  }
}

function connectionOptions(options: BusOptions): { options: ConnectionOptions; shown: string } {
  const { urls, servers, tls } = readServers(options);
  const first = urls[0];
  const user = options.user ?? decodeURIComponent(first?.username ?? '');
  const password = options.password ?? decodeURIComponent(first?.password ?? '');
  return {
    shown: servers.join(', '),
    options: {
      servers: [...servers],
      name: `brine ${options.name}`,
      ...(user === '' ? {} : { user, pass: password }),
      ...(tls === undefined ? {} : { tls }),
      inboxPrefix: SERVICE_INBOXES[options.name],
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RETRY_MS,
      reconnectJitter: RETRY_MS,
      ignoreAuthErrorAbort: true,
      pingInterval: 2_000,
      maxPingOut: 2,
      timeout: 5_000,
      noAsyncTraces: true,
    },
  };
}
