import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isName } from '@brine/wire';
import { OptionError, Options } from '../child/options.ts';
import type { EngineContext, EngineStart } from '../engine.ts';

const TAG = 'salt/engines/hook/';
const PORT = 5000;
/** A request, its body, its path; and how many at a time. */
const REQUEST_MS = 30_000;
const BODY_MAX_BYTES = 8 * 1024 * 1024;
const PATH_MAX_CHARS = 1_024;
const CONNECTIONS_MAX = 256;
const HEADERS_MAX = 100;

/**
 * Each `POST` to any path is an event `salt/engines/hook/<path>` with `headers` and `body`
 * (salt/engines/webhook.py). It asks for no login: what reacts to these events must check what they
 * carry.
 */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const port = options.port('port', PORT);
  const address = options.maybeText('address');
  const server = await serverOf(options, (request, response) => {
    void answer(engine, request).then((status) => {
      response.writeHead(status, { 'Content-Length': '0' });
      response.end();
    });
  });
  server.requestTimeout = REQUEST_MS;
  server.headersTimeout = REQUEST_MS;
  server.maxConnections = CONNECTIONS_MAX;
  server.maxHeadersCount = HEADERS_MAX;
  await listening(server, port, address);
  const bound = server.address() as AddressInfo;
  engine.log('info', `listens on ${bound.address} port ${bound.port}`);
  engine.tell({ port: bound.port });
  await new Promise<void>((resolve) => {
    const close = (): void => {
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
  if (cert === undefined && key === undefined) return createServer(listener);
  // Salt serves without TLS where one of the two is missing.
  if (cert === undefined || key === undefined) {
    throw new OptionError('ssl_crt and ssl_key go together');
  }
  return createSecureServer({ cert, key }, listener);
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

/** Fires the event of a request; gives the status of the answer. */
async function answer(engine: EngineContext, request: IncomingMessage): Promise<number> {
  if (request.method !== 'POST') return refused(request, 405);
  const path = pathOf(request.url ?? '/');
  if (path === undefined) return refused(request, 400);
  try {
    const body = await bodyOf(request);
    if (body === undefined) return refused(request, 413);
    await engine.fire(`${TAG}${path}`, { headers: headersOf(request), body });
    return 200;
  } catch (error) {
    engine.log('warn', `a request was not made an event: ${(error as Error).message}`);
    // The sender may try again.
    return 503;
  }
}

/** What was not read of a request that is refused is left. */
function refused(request: IncomingMessage, status: number): number {
  request.resume();
  return status;
}

/** The path without its first slash, unescaped; undefined for one that is no tag. */
function pathOf(url: string): string | undefined {
  const [raw = ''] = url.split('?', 1);
  try {
    const path = decodeURIComponent(raw.slice(1));
    return path.length > PATH_MAX_CHARS || !isName('tag', path) ? undefined : path;
  } catch {
    return undefined;
  }
}

/** Text where the body is UTF-8; undefined for one that is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | Uint8Array | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_MAX_BYTES) return undefined;
    parts.push(part);
  }
  const body = Buffer.concat(parts);
  const text = body.toString('utf8');
  return Buffer.from(text, 'utf8').equals(body) ? text : body;
}

/** Names as tornado writes them: `Content-Type`. */
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
