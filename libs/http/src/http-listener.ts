import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText, sleepUnless } from '@brine/tasks';
import cookie from '@fastify/cookie';
import websocket from '@fastify/websocket';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { HTTP_LIMITS } from './limits.ts';

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
  readonly bodyMaxBytes?: number;
  /** Adds the routes. */
  readonly build: (app: HttpApp) => void | Promise<void>;
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
  readonly #stopping = new AbortController();
  #app: HttpApp | undefined;
  #endpoint: string | undefined;
  #connections = 0;

  private constructor(options: HttpListenerOptions) {
    this.#options = options;
  }

  /**
   * Builds the application and begins to listen. Resolves after the first try.
   * @throws the error of a file of TLS, or of `build`
   */
  static async start(options: HttpListenerOptions): Promise<HttpListener> {
    const listener = new HttpListener(options);
    const app = makeApp(options);
    listener.#app = app;
    await options.build(app);
    await app.ready();
    listener.#bound(app.server);
    if (!(await listener.#listen(app.server))) void listener.#listenLater(app.server);
    return listener;
  }

  /** `http://127.0.0.1:4507`; undefined while it does not listen. */
  get endpoint(): string | undefined {
    return this.#endpoint;
  }

  /** Open connections. */
  get connections(): number {
    return this.#connections;
  }

  /** Takes no more connections; waits for the answers in hand, bounded, and closes the others. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#endpoint = undefined;
    const app = this.#app;
    if (app === undefined) return;
    const { server } = app;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    await Promise.race([closed, sleep(HTTP_LIMITS.drainMs, undefined, { ref: false })]);
    server.closeAllConnections();
    await app.close();
  }

  #bound(server: Server): void {
    server.on('connection', (socket) => {
      this.#connections += 1;
      socket.once('close', () => (this.#connections -= 1));
    });
  }

  /** True if it listens, or never will. */
  async #listen(server: Server): Promise<boolean> {
    const { address, boundPort, onTaken, onListening } = this.#options;
    const { host, port } = address;
    const handle = await boundPort?.(host, port);
    if (this.#stopping.signal.aborted) return true;
    try {
      await listenOn(server, handle ?? { host, port });
    } catch (error) {
      onTaken(errorText(error));
      return false;
    }
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
      if (!(await sleepUnless(HTTP_LIMITS.listenAgainMs, signal))) return;
      if (await this.#listen(server)) return;
    }
  }
}

function listenOn(server: Server, where: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(error);
    server.once('error', onError);
    server.listen(where, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

function makeApp({ address, bodyMaxBytes }: HttpListenerOptions): HttpApp {
  const common = {
    bodyLimit: bodyMaxBytes ?? HTTP_LIMITS.bodyBytes,
    // Behind a balancer all requests have its address; a header of the peer proves nothing.
    trustProxy: false,
    requestTimeout: HTTP_LIMITS.requestMs,
    keepAliveTimeout: HTTP_LIMITS.idleMs,
    forceCloseConnections: true,
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: 4096,
    },
    exposeHeadRoutes: false,
  } as const;
  const { tls } = address;
  const made =
    tls === undefined
      ? fastify(common)
      : fastify({ ...common, http2: true, https: { allowHTTP1: true, ...filesOf(tls) } });
  // The types of the two kinds differ in the raw request alone, which no route uses.
  const app = made as unknown as HttpApp;
  app.server.headersTimeout = HTTP_LIMITS.headersMs;
  app.server.maxConnections = HTTP_LIMITS.connections;
  void app.register(cookie);
  void app.register(websocket, { options: { maxPayload: 64 * 1024 } });
  return app;
}

function filesOf({ crt, key, chain }: NonNullable<HttpAddress['tls']>) {
  const cert = [crt, ...(chain === undefined ? [] : [chain])].map((path) => readFileSync(path));
  return { cert: Buffer.concat(cert), key: readFileSync(key) };
}
