import { type ConnectionOptions, headers, type NatsConnection } from '@nats-io/nats-core';
import { connectGathering } from '../connection/client-internals.ts';
import { asError, BusError } from '../connection/errors.ts';

/** A NATS that is not the bus of the cluster. */
export interface ForeignOptions {
  /** `host:port`, `nats://…` or `tls://…`. */
  readonly servers: readonly string[];
  /** The name of the connection as the servers show it. */
  readonly name: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
  /** File with the certificates that are trusted; with it the connection is by TLS. */
  readonly caFile?: string | undefined;
}

/** A message for a subject there. */
export interface ForeignMessage {
  readonly subject: string;
  /** The same when it is sent again: a stream keeps it once. */
  readonly id: string;
  readonly payload: Uint8Array;
}

/** A connection to a NATS that is not the bus of the cluster. It reconnects by itself. */
export interface ForeignNats {
  /**
   * Resolves when the server has all of them.
   * @throws BusError `BUS_UNREACHABLE`; `BUS_BODY_TOO_LARGE` where the server can not take one,
   * before any is sent
   */
  publish(messages: readonly ForeignMessage[]): Promise<void>;
  /**
   * Resolves when a stream there has stored all of them.
   * @throws BusError `BUS_STREAM_AWAY`; `BUS_BODY_TOO_LARGE` where server or stream can not take
   * one
   */
  store(messages: readonly ForeignMessage[]): Promise<void>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const RETRY_MS = 1_000;
/** The server drops a client with a longer line: 4,096 bytes, with reply subject and sizes. */
const SUBJECT_MAX_BYTES = 4_000;
const ID_HEADER = 'Nats-Msg-Id';
/** The size of the headers of a stored message, without the id. */
const HEAD_BYTES = `NATS/1.0\r\n${ID_HEADER}: \r\n\r\n`.length;
/** JetStream's error number for a message that is larger than the stream allows. */
const TOO_LARGE = 10_054;

/** Connects. @throws BusError `BUS_UNREACHABLE` */
export async function connectForeign(options: ForeignOptions): Promise<ForeignNats> {
  const { servers, name, user, password, token, caFile } = options;
  const settings: ConnectionOptions = {
    servers: [...servers],
    name,
    ...(user === undefined ? {} : { user, pass: password ?? '' }),
    ...(token === undefined ? {} : { token }),
    ...(caFile === undefined ? {} : { tls: { caFile } }),
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    timeout: TIMEOUT_MS,
  };
  let connection: NatsConnection;
  try {
    connection = await connectGathering(settings);
  } catch (error) {
    const text = `no NATS server answers at ${servers.map(hostOf).join(', ')}`;
    throw new BusError('BUS_UNREACHABLE', `${text}: ${asError(error).message}`, error);
  }
  const link = { isUp: true };
  void follow(connection, link);
  const check = (messages: readonly ForeignMessage[], isStored: boolean): void => {
    // The client would keep what is published meanwhile, without a bound.
    if (!link.isUp) throw new BusError('BUS_UNREACHABLE', 'the NATS server is unreachable');
    const most = connection.info?.max_payload ?? Infinity;
    for (const message of messages) checkSize(message, isStored, most);
  };
  return {
    publish: async (messages) => {
      check(messages, false);
      for (const message of messages) connection.publish(message.subject, message.payload);
      await within(connection.flush(), 'BUS_UNREACHABLE', 'the NATS server does not answer');
    },
    store: async (messages) => {
      check(messages, true);
      await Promise.all(messages.map((message) => stored(connection, message)));
    },
    close: async () => {
      await within(connection.drain(), 'BUS_UNREACHABLE', 'close times out').catch(() => undefined);
      await connection.close();
    },
  };
}

async function follow(connection: NatsConnection, link: { isUp: boolean }): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === 'disconnect') link.isUp = false;
    if (type === 'reconnect') link.isUp = true;
  }
}

/** @throws BusError `BUS_BODY_TOO_LARGE` */
function checkSize(message: ForeignMessage, isStored: boolean, most: number): void {
  const { subject, id, payload } = message;
  const bytes = payload.length + (isStored ? HEAD_BYTES + Buffer.byteLength(id) : 0);
  if (bytes > most) {
    const text = `the server takes messages of ${most} bytes, this one has ${bytes}`;
    throw new BusError('BUS_BODY_TOO_LARGE', text);
  }
  if (Buffer.byteLength(subject) <= SUBJECT_MAX_BYTES) return;
  throw new BusError('BUS_BODY_TOO_LARGE', `its subject has more than ${SUBJECT_MAX_BYTES} bytes`);
}

async function stored(
  connection: NatsConnection,
  { subject, id, payload }: ForeignMessage,
): Promise<void> {
  const about = headers();
  about.set(ID_HEADER, id);
  let answer: { readonly error?: { readonly err_code?: number; readonly description?: string } };
  try {
    const reply = await connection.request(subject, payload, {
      timeout: TIMEOUT_MS,
      headers: about,
    });
    answer = reply.json();
  } catch (error) {
    const text = `${subject} was not stored: ${asError(error).message}`;
    throw new BusError('BUS_STREAM_AWAY', text, error);
  }
  if (answer.error === undefined) return;
  const why = answer.error.description ?? 'refused';
  const code = answer.error.err_code === TOO_LARGE ? 'BUS_BODY_TOO_LARGE' : 'BUS_STREAM_AWAY';
  throw new BusError(code, `${subject} was not stored: ${why}`);
}

async function within<T>(work: Promise<T>, code: 'BUS_UNREACHABLE', text: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BusError(code, text)), TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A server without user and password, for texts. */
function hostOf(server: string): string {
  return server.replace(/\/\/[^@/]*@/, '//');
}
