import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Http2ServerRequest, SecureServerOptions } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText, sleepUnless } from '@brine/tasks';
import cookie from '@fastify/cookie';
import websocket from '@fastify/websocket';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Connections, isCutOff } from './connections.ts';
import { HTTP_LIMITS, type HttpLimits } from './limits.ts';
import { keepSocketPaths, requestsOf } from './upgrades.ts';

/** An application, to which routes are added. */
export type HttpApp = FastifyInstance;
/** A request. */
export type HttpRequest = FastifyRequest;
/** Its answer. */
export type HttpReply = FastifyReply;

/** Where to listen. */
export interface HttpAddress {
  readonly host: string;
  readonly port: number;
  /** Files in PEM. With them HTTP/2 is offered beside HTTP/1.1. */
  readonly tls?: { readonly crt: string; readonly key: string; readonly chain?: string };
}

/** What a listener serves. */
export interface HttpListenerOptions {
  readonly address: HttpAddress;
  readonly limits?: Partial<HttpLimits>;
  /** Adds the routes. */
  readonly build: (app: HttpApp) => void | Promise<void>;
  /** The page of an error, for requests that reach no route. */
  readonly errorPage: (status: number) => string;
  /** The socket that the supervisor has bound for an address, if any. */
  readonly boundPort?: (host: string, port: number) => Promise<object | undefined>;
  /** Called once while the address can not be listened on; it is tried again. */
  readonly onTaken: (reason: string) => void;
  /** Called when it listens. */
  readonly onListening: (endpoint: string) => void;
}

/**
 * Serves HTTP on one address. If another program has the port, it tries again until that has
 * stopped: a stock salt-api hands over by being stopped.
 */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #limits: HttpLimits;
  readonly #stopping = new AbortController();
  readonly #app: HttpApp;
  readonly #connections: Connections;
  #endpoint: string | undefined;

  private constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#limits = { ...HTTP_LIMITS, ...options.limits };
    this.#app = makeApp(options, this.#limits);
    this.#connections = new Connections(
      this.#app.server,
      options.errorPage,
      this.#limits.requestMs,
    );
  }

  /**
   * Builds the application and begins to listen. Resolves after the first try.
   * @throws the error of a file of TLS, or of `build`
   */
  static async start(options: HttpListenerOptions): Promise<HttpListener> {
    const listener = new HttpListener(options);
    const app = listener.#app;
    await options.build(app);
    await app.ready();
    if (!(await listener.#listen(app.server))) void listener.#listenLater(app.server);
    return listener;
  }

  /** `http://127.0.0.1:4507`; undefined while it does not listen. */
  get endpoint(): string | undefined {
    return this.#endpoint;
  }

  /** Open connections. */
  get connections(): number {
    return this.#connections.count;
  }

  /** Takes no more connections; waits for the answers in flight, bounded, and closes the others. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#endpoint = undefined;
    const { server } = this.#app;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.#connections.drain();
    await Promise.race([closed, sleep(this.#limits.drainMs, undefined, { ref: false })]);
    this.#connections.destroy();
    await this.#app.close();
  }

  /** True if it listens, or never will. */
  async #listen(server: Server): Promise<boolean> {
    const { address, boundPort, onTaken, onListening } = this.#options;
    const { host, port } = address;
    const { signal } = this.#stopping;
    try {
      const handle = await boundPort?.(host, port);
      if (signal.aborted) return true;
      await listenOn(server, handle ?? { host, port }, this.#limits.connections);
      if (signal.aborted) server.close();
    } catch (error) {
      onTaken(errorText(error));
      return false;
    }
    if (signal.aborted) return true;
    const bound = server.address();
    const at = typeof bound === 'object' && bound !== null ? bound.port : port;
    const name = host.includes(':') ? `[${host}]` : host;
    this.#endpoint = `${address.tls === undefined ? 'http' : 'https'}://${name}:${at}`;
    onListening(this.#endpoint);
    return true;
  }

  async #listenLater(server: Server): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      if (!(await sleepUnless(this.#limits.listenAgainMs, signal))) return;
      if (await this.#listen(server)) return;
    }
  }
}

/**
 * The system keeps as many connections in its queue as may be open: with fewer, many that come at
 * once wait for seconds, and some are reset.
 */
function listenOn(server: Server, where: object, backlog: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => {
      server.off('listening', onListening);
      reject(error);
    };
    const onListening = (): void => {
      server.off('error', onError);
      resolve();
    };
    server.once('error', onError).once('listening', onListening);
    server.listen(where, backlog);
  });
}

/** The part of a reply that both kinds of HTTP have. */
interface Answerable {
  readonly raw: {
    writeHead(status: number, headers: Record<string, string>): { end(page: string): unknown };
  };
}

function makeApp({ address, errorPage }: HttpListenerOptions, limits: HttpLimits): HttpApp {
  const common = {
    bodyLimit: limits.bodyBytes,
    // Behind a balancer all requests have its address; a header of the peer proves nothing.
    trustProxy: false,
    // It would end connections while their answers are sent.
    forceCloseConnections: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: 4096,
    },
    exposeHeadRoutes: false,
    // Without it, a path that can not be decoded is answered in JSON of the web server.
    frameworkErrors: (error: { readonly statusCode?: number }, _: unknown, { raw }: Answerable) => {
      const status = error.statusCode ?? 400;
      const page = errorPage(status);
      raw.writeHead(status, { 'content-type': 'text/html;charset=utf-8' }).end(page);
    },
  } as const;
  const { tls } = address;
  const socketPaths = new Set<string>();
  const requests = requestsOf(socketPaths);
  const made =
    tls === undefined
      ? fastify({
          ...common,
          http: { connectionsCheckingInterval: limits.checkMs, IncomingMessage: requests },
        })
      : fastify({
          ...common,
          http2: true,
          https: { ...filesOf(tls), ...http2Of(limits), Http1IncomingMessage: requests },
        });
  // The types of the two kinds differ in the raw request alone, which no route uses.
  const app = made as unknown as HttpApp;
  const { server } = app;
  keepSocketPaths(server, socketPaths);
  server.requestTimeout = limits.requestMs;
  server.headersTimeout = limits.headersMs;
  server.keepAliveTimeout = limits.idleMs;
  server.maxConnections = limits.connections;
  void app.register(cookie);
  void app.register(websocket, { options: { maxPayload: 64 * 1024 } });
  app.addHook('onRequest', async ({ raw, headers }, reply) => {
    if ('stream' in raw) return;
    if (!/^1\.[01]$/.test(raw.httpVersion)) throw new HttpVersionError();
    // Node drops what came in the same packet, as if no request could follow.
    if (headers.upgrade !== undefined) void reply.header('Connection', 'close');
  });
  app.addHook('preHandler', async ({ raw }, reply) => {
    // The body of a stream that was reset ends like a whole one.
    if ('stream' in raw && isCutOff(raw as unknown as Http2ServerRequest)) reply.hijack();
  });
  return app;
}

/** Thrown for a version that a connection of HTTP/1 can not have; the parser takes 0.9 and 2.0. */
class HttpVersionError extends Error {
  readonly statusCode = 400;

  constructor() {
    super('the version is none of HTTP/1');
    this.name = 'HttpVersionError';
  }
}

function http2Of({ checkMs, streams }: HttpLimits): SecureServerOptions {
  // The types do not know that HTTP/1.1 beside HTTP/2 has the options of HTTP/1.1.
  const http1: object = { connectionsCheckingInterval: checkMs };
  return { allowHTTP1: true, settings: { maxConcurrentStreams: streams }, ...http1 };
}

function filesOf({ crt, key, chain }: NonNullable<HttpAddress['tls']>) {
  const cert = [crt, ...(chain === undefined ? [] : [chain])].map((path) => readFileSync(path));
  return { cert: Buffer.concat(cert), key: readFileSync(key) };
}
