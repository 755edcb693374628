import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { FairShare, LIMITS, ShareExceededError } from '@brine/bus/share';
import { networkOf } from '@brine/target';
import { isName } from '@brine/wire';
import { OptionError, Options } from '../child/options.ts';
import type { EngineContext, EngineStart } from '../engine.ts';

const TAG = 'salt/engines/hook/';
const PORT = 5000;
/** Timeouts of a request's headers and of all of it; they also close an idle connection. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
/** Node checks these timeouts every 30 s by default. */
const CHECK_MS = 1_000;
const BODY_MAX_BYTES = 8 * 1024 * 1024;
/** Limit of the bodies of all requests that are being read or stored. */
const BODIES_MAX_BYTES = 64 * 1024 * 1024;
const PATH_MAX_CHARS = 1_024;
const CONNECTIONS_MAX = 256;
/** Limit per address: a slow sender must leave room for others. */
const CONNECTIONS_OF_ONE = 32;
/** Time that a refused connection has to receive its answer, ms. */
const REFUSED_MS = 2_000;
const HEADERS_MAX = 100;
/** Delay after which a refused sender may try again, s. */
const RETRY_SECONDS = '10';
/** Interval at which the counts are logged, ms. */
const LOG_MS = 1_000;

/**
 * Fires each `POST` to any path as an event `salt/engines/hook/<path>` with `headers` and `body`
 * (salt/engines/webhook.py). There is no login: reactions to these events must check their
 * contents.
 */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const port = options.port('port', PORT);
  const address = options.maybeText('address');
  const hook = new Hook(engine);
  const server = await serverOf(options, (request, response) => {
    void hook.answer(request).then((status) => {
      const later = status === 429 || status === 503 ? { 'Retry-After': RETRY_SECONDS } : {};
      response.writeHead(status, { 'Content-Length': '0', ...later });
      response.end();
    });
  });
  server.on('connection', (socket: Socket) => hook.connected(socket));
  server.requestTimeout = REQUEST_MS;
  server.headersTimeout = HEADERS_MS;
  server.maxConnections = CONNECTIONS_MAX;
  server.maxHeadersCount = HEADERS_MAX;
  await listening(server, port, address);
  const bound = server.address() as AddressInfo;
  engine.log('info', `listens on ${bound.address} port ${bound.port}`);
  engine.tell({ port: bound.port });
  const timer = setInterval(() => hook.report(), LOG_MS);
  await new Promise<void>((resolve) => {
    const close = (): void => {
      clearInterval(timer);
      server.close(() => resolve());
      server.closeIdleConnections();
    };
    if (engine.stopping.aborted) close();
    else engine.stopping.addEventListener('abort', close);
  });
};

async function serverOf(options: Options, listener: RequestListener): Promise<Server> {
  const cert = await options.file('ssl_crt');
  const key = await options.file('ssl_key');
  const times = { connectionsCheckingInterval: CHECK_MS };
  if (cert === undefined && key === undefined) return createServer(times, listener);
  // Salt serves without TLS if one of the two is missing.
  if (cert === undefined || key === undefined) {
    throw new OptionError('ssl_crt and ssl_key go together');
  }
  return createSecureServer({ cert, key, handshakeTimeout: HEADERS_MS, ...times }, listener);
}

function listening(server: Server, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.removeListener('error', reject);
      server.on('error', () => undefined);
      resolve();
    });
  });
}

/** Accepts requests of strangers; each address has a share. */
class Hook {
  readonly #engine: EngineContext;
  readonly #share = new FairShare(LIMITS.stored.address);
  readonly #connections = new Map<string, number>();
  /** Addresses over their limit; the log names each once. */
  readonly #crowding = new Set<string>();
  /** Connections over the limit. Names, because TLS gives a request another socket object. */
  readonly #refused = new Set<string>();
  #bytes = 0;
  #counts = { crowded: 0, overShare: 0, overRoom: 0 };
  #logged = '';

  constructor(engine: EngineContext) {
    this.#engine = engine;
  }

  /** Counts a connection, and closes it after {@link REFUSED_MS} if it is one too many. */
  connected(socket: Socket): void {
    const address = networkOf(socket.remoteAddress ?? '');
    const count = (this.#connections.get(address) ?? 0) + 1;
    this.#connections.set(address, count);
    const isTooMany = count > CONNECTIONS_OF_ONE;
    const timer = isTooMany ? setTimeout(() => socket.destroy(), REFUSED_MS) : undefined;
    const name = nameOf(socket);
    socket.once('close', () => {
      clearTimeout(timer);
      this.#refused.delete(name);
      const left = (this.#connections.get(address) ?? 1) - 1;
      if (left > 0) this.#connections.set(address, left);
      else {
        this.#connections.delete(address);
        this.#crowding.delete(address);
      }
    });
    if (!isTooMany) return;
    this.#refused.add(name);
    this.#counts.crowded += 1;
    if (this.#crowding.has(address)) return;
    this.#crowding.add(address);
    this.#engine.log('warn', `${address} has more than ${CONNECTIONS_OF_ONE} connections`);
  }

  /** Fires the event of a request; returns the status of the answer. */
  async answer(request: IncomingMessage): Promise<number> {
    if (this.#refused.has(nameOf(request.socket))) return refused(request, 429);
    if (request.method !== 'POST') return refused(request, 405);
    const path = pathOf(request.url ?? '/');
    if (path === undefined) return refused(request, 400);
    if (Number(request.headers['content-length'] ?? 0) > BODY_MAX_BYTES) {
      return refused(request, 413);
    }
    let kept = 0;
    const keep = (bytes: number): boolean => {
      kept += bytes;
      this.#bytes += bytes;
      return this.#bytes <= BODIES_MAX_BYTES;
    };
    try {
      const body = await bodyOf(request, keep);
      if (body === 503) this.#counts.overRoom += 1;
      if (typeof body === 'number') return refused(request, body);
      const address = networkOf(request.socket.remoteAddress ?? '');
      const data = { headers: headersOf(request), body };
      await this.#share.run(address, kept, () => this.#engine.fire(`${TAG}${path}`, data));
      return 200;
    } catch (error) {
      if (error instanceof ShareExceededError) return this.#overShare(error);
      // A sender that closed the connection, or was too slow, gets no answer.
      if (request.destroyed && !request.complete) return 408;
      const { message } = error as Error;
      this.#engine.log('warn', `a request was not made an event: ${message}`);
      // The sender may retry.
      return 503;
    } finally {
      this.#bytes -= kept;
    }
  }

  /** Logs the counts if they have changed. */
  report(): void {
    const text = JSON.stringify(this.#counts);
    if (text === this.#logged) return;
    this.#logged = text;
    this.#engine.tell(this.#counts);
  }

  #overShare({ message, again }: ShareExceededError): number {
    this.#counts.overShare += 1;
    if (!again) this.#engine.log('warn', `${message} of this hook`);
    return 429;
  }
}

function nameOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The rest of a refused request is discarded. */
function refused(request: IncomingMessage, status: number): number {
  request.resume();
  return status;
}

/** The path without its first slash, unescaped; undefined if it is not a valid tag. */
function pathOf(url: string): string | undefined {
  const [raw = ''] = url.split('?', 1);
  try {
    const path = decodeURIComponent(raw.slice(1));
    return path.length > PATH_MAX_CHARS || !isName('tag', path) ? undefined : path;
  } catch {
    return undefined;
  }
}

/**
 * Reads a body: text if it is UTF-8, a status if it is too large or there is no room.
 * @param keep returns false if there is no room for more
 */
async function bodyOf(
  request: IncomingMessage,
  keep: (bytes: number) => boolean,
): Promise<string | Uint8Array | 413 | 503> {
  const parts: Buffer[] = [];
  let bytes = 0;
  // Otherwise an early end would destroy the connection before the answer is sent.
  const read = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const part of read) {
    bytes += part.length;
    if (!keep(part.length)) return 503;
    if (bytes > BODY_MAX_BYTES) return 413;
    parts.push(part);
  }
  const body = Buffer.concat(parts);
  const text = body.toString('utf8');
  return Buffer.from(text, 'utf8').equals(body) ? text : body;
}

/** Names as in tornado: `Content-Type`. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const shown = name.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => {
      return `${dash}${letter.toUpperCase()}`;
    });
    if (value !== undefined) found[shown] = Array.isArray(value) ? value.join(',') : value;
  }
  return found;
}
