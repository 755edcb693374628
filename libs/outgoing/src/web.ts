import { readFile, stat } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

/** A request to a web server. */
export interface WebRequest {
  /** `http://…` or `https://…`. */
  readonly url: string;
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body?: string;
  /** False: the server's certificate is not checked. */
  readonly verify: boolean;
  /** A file of trusted certificates; absent: those of Node. */
  readonly caBundle?: string;
  readonly connectTimeoutMs: number;
  /** For the whole request, including redirections. */
  readonly timeoutMs: number;
  /** Limit of the answer's body. */
  readonly maxBytes: number;
}

/** The answer of a web server. */
export interface WebAnswer {
  readonly status: number;
  readonly reason: string;
  /** Names in lower case; several of one name are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

/** Redirections that are followed, as tornado does. */
const REDIRECTS_MAX = 5;
/** Bundles in use have some hundred kilobytes. */
const BUNDLE_MAX_BYTES = 4 * 1024 * 1024;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Headers for one server, which a redirection must not reveal to another. */
const OF_ONE_SERVER = ['authorization', 'cookie', 'host'];

/**
 * Sends a request to a web server, and follows redirections.
 * @throws Error with a text for an operator: no connection, too late, too large, no web address
 */
export async function askWeb(asked: WebRequest): Promise<WebAnswer> {
  const signal = AbortSignal.timeout(asked.timeoutMs);
  const ca = asked.caBundle === undefined ? undefined : await readBundle(asked.caBundle);
  let request = asked;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await send(request, ca, signal);
    const location = answer.headers.get('location');
    if (!REDIRECTS.includes(answer.status) || location === undefined) return answer;
    if (redirects >= REDIRECTS_MAX) throw new Error(`more than ${REDIRECTS_MAX} redirections`);
    request = redirected(request, answer.status, location);
  }
}

async function readBundle(path: string): Promise<Buffer> {
  const facts = await stat(path);
  if (!facts.isFile() || facts.size > BUNDLE_MAX_BYTES) {
    throw new Error(`${path} is no bundle of certificates`);
  }
  return readFile(path);
}

function redirected(request: WebRequest, status: number, location: string): WebRequest {
  const [before, url] = [new URL(request.url), new URL(location, request.url)];
  const isElsewhere = before.origin !== url.origin;
  const headers = new Map(
    [...request.headers].filter(
      ([name]) => !isElsewhere || !OF_ONE_SERVER.includes(name.toLowerCase()),
    ),
  );
  const { body, ...rest } = { ...request, url: url.href, headers };
  const becomesGet = status === 303 || (status < 303 && request.method === 'POST');
  if (!becomesGet) return body === undefined ? rest : { ...rest, body };
  return { ...rest, method: request.method === 'HEAD' ? 'HEAD' : 'GET' };
}

async function send(
  asked: WebRequest,
  ca: Buffer | undefined,
  signal: AbortSignal,
): Promise<WebAnswer> {
  const url = new URL(asked.url);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Error(`no web address: ${url.protocol}//`);
  }
  const options = {
    method: asked.method,
    headers: Object.fromEntries(asked.headers),
    signal,
    ...(ca === undefined ? {} : { ca }),
    rejectUnauthorized: asked.verify,
    agent: false as const,
  };
  const request =
    url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options);
  try {
    const answer = await answered(request, asked);
    return {
      status: answer.statusCode ?? 0,
      reason: answer.statusMessage ?? '',
      headers: headersOf(answer),
      body: await bodyOf(answer, asked.maxBytes),
    };
  } catch (error) {
    throw new Error(textOf(error, signal), { cause: error });
  } finally {
    request.destroy();
  }
}

function answered(request: ClientRequest, asked: WebRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(new Error('Timeout while connecting'));
    }, asked.connectTimeoutMs);
    const connected = (): void => clearTimeout(late);
    request.once('socket', (socket) => {
      if (!socket.connecting) connected();
      socket.once('connect', connected);
    });
    request.once('error', (error) => {
      connected();
      reject(error);
    });
    request.once('response', (answer) => {
      connected();
      resolve(answer);
    });
    request.end(asked.body);
  });
}

async function bodyOf(answer: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf({ headers }: IncomingMessage): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) found.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return found;
}

/** Faults of connections with Python's texts, which scripts match. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: '[Errno 111] Connection refused',
  ECONNRESET: '[Errno 104] Connection reset by peer',
  EHOSTUNREACH: '[Errno 113] No route to host',
  ENETUNREACH: '[Errno 101] Network is unreachable',
  ENOTFOUND: '[Errno -2] Name or service not known',
  EAI_AGAIN: '[Errno -3] Temporary failure in name resolution',
};

function textOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'Timeout during request';
  if (error instanceof AggregateError && error.errors.length > 0) {
    return textOf(error.errors[0], signal);
  }
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return WORDS[code] ?? error.message;
}
