import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CONTENT_TYPES, type ExpositionFormat, formatFor } from './metrics/exposition.ts';
import { boundPort } from './processes/bound-ports.ts';

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

/** The source of a health endpoint's answers; it is read at each request. */
export interface HealthSource {
  readonly ready: () => boolean;
  readonly status: () => object;
  readonly metrics: (format: ExpositionFormat) => Promise<string>;
}

/** A running health endpoint. */
export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `/healthz` (the process lives), `/readyz` (it really serves), `/metrics` (Prometheus) and
 * `/status` (JSON). `/status` shows the master's insides, so only this host may read it, whatever
 * address the service listens on. Rejects if the port is taken.
 */
export async function startHealth(
  source: HealthSource,
  address: { readonly host: string; readonly port: number },
): Promise<HealthServer> {
  const server = createServer((request, response) => answer(source, request, response));
  // A probe is a single short request, so idle connections are closed soon.
  server.keepAliveTimeout = 1000;
  server.requestTimeout = 5000;
  server.maxConnections = 64;
  const bound = await boundPort(address.host, address.port);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    if (bound === undefined) server.listen(address.port, address.host, resolve);
    else server.listen(bound, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server) };
}

function answer(source: HealthSource, request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '/').split('?', 1)[0];
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'GET only');
  try {
    switch (path) {
      case '/healthz':
        return send(response, 200, 'live\n');
      case '/readyz':
        return source.ready() ? send(response, 200, 'ready\n') : send(response, 503, 'not ready\n');
      case '/metrics':
        return void sendMetrics(source, formatFor(request.headers.accept), response);
      case '/status':
        if (!isOfThisHost(request)) return send(response, 403, 'for this host only\n');
        return send(response, 200, `${JSON.stringify(source.status())}\n`, 'application/json');
      default:
        return send(response, 404, 'not found\n');
    }
  } catch (error) {
    send(response, 500, `${(error as Error).message}\n`);
  }
}

/** In a container: of this container. Probes and Prometheus come from elsewhere. */
function isOfThisHost({ socket }: IncomingMessage): boolean {
  const { remoteAddress = '', localAddress } = socket;
  return remoteAddress === localAddress || LOOPBACK.test(remoteAddress);
}

async function sendMetrics(
  source: HealthSource,
  format: ExpositionFormat,
  response: ServerResponse,
): Promise<void> {
  try {
    send(response, 200, await source.metrics(format), CONTENT_TYPES[format]);
  } catch (error) {
    send(response, 500, `${(error as Error).message}\n`);
  }
}

function send(response: ServerResponse, code: number, body: string, type = 'text/plain'): void {
  response.writeHead(code, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
