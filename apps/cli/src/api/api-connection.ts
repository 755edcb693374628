import { readFileSync } from 'node:fs';
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSystemError } from '@brine/files';
import { errorText } from '@brine/tasks';
import { EXIT, Exit } from '../exit-codes.ts';
import { ApiRefusedError, ApiUnreachableError } from './api-errors.ts';

/** A request to the API. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/v1`. */
  readonly path: string;
  readonly body?: object;
  /** For all tries together. */
  readonly timeoutMs: number;
}

/** The answer to a request. */
export interface ApiAnswer {
  readonly headers: IncomingMessage['headers'];
  /** The JSON of the body; undefined without one. */
  readonly json: unknown;
}

/** An answer is a page of the job cache, at most some ten MiB. */
const ANSWER_MAX_BYTES = 256 * 1024 * 1024;
/** Pause before a retry after a lost or refused connection, as while http-api restarts. */
const LOST_PAUSE_MS = 250;
/** Longest pause that a 503 may ask for. */
const PAUSE_MAX_MS = 5_000;
/** A stream without a byte for this long is dead: the API sends a comment each 15 s. */
const SILENT_MS = 45_000;

/** Errors of a connection that a restart of http-api explains. */
const LOST = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/** Requests to one API. Certificates are always checked, and no redirection is followed. */
export class ApiConnection {
  readonly url: string;
  readonly #agent: HttpAgent;
  #token: string | undefined;

  /**
   * @param ca a file of certificates; default those of Node and `NODE_EXTRA_CA_CERTS`
   * @throws Exit 1 if the file can not be read
   */
  constructor(url: string, ca: string | undefined, token?: string) {
    this.url = url;
    this.#token = token;
    this.#agent = url.startsWith('https:')
      ? new HttpsAgent({ keepAlive: true, ...(ca === undefined ? {} : { ca: readCa(ca) }) })
      : new HttpAgent({ keepAlive: true });
  }

  /** Further requests have this token. */
  useToken(token: string): void {
    this.#token = token;
  }

  /**
   * Sends a request. While the API has no room, or restarts, it is sent again.
   * @throws ApiRefusedError ApiUnreachableError
   */
  ask(asked: ApiRequest): Promise<ApiAnswer> {
    return this.#patiently(asked.timeoutMs, (leftMs) => this.#once(asked, leftMs));
  }

  /**
   * Opens a stream of server-sent events; resolves when the API sends. Calls `onData` with the data
   * of each event, and `onEnd` once.
   * @throws ApiRefusedError ApiUnreachableError
   */
  async follow(
    path: string,
    {
      timeoutMs,
      onData,
      onEnd,
    }: {
      readonly timeoutMs: number;
      readonly onData: (data: string) => void;
      readonly onEnd: () => void;
    },
  ): Promise<{ close(): void }> {
    const { request, answer } = await this.#patiently(timeoutMs, (leftMs) =>
      this.#opened(path, leftMs),
    );
    const lines = new Lines((line) => {
      if (line.startsWith('data: ')) onData(line.slice('data: '.length));
    });
    answer.setTimeout(SILENT_MS, () => request.destroy());
    answer.on('data', (chunk: Buffer) => {
      if (!lines.take(chunk)) request.destroy();
    });
    answer.on('error', () => request.destroy());
    answer.once('close', onEnd);
    return { close: () => void request.destroy() };
  }

  close(): void {
    this.#agent.destroy();
  }

  async #patiently<T>(timeoutMs: number, once: (leftMs: number) => Promise<T>): Promise<T> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      try {
        return await once(Math.max(1, until - performance.now()));
      } catch (error) {
        const pauseMs = pauseAfter(error);
        if (pauseMs === undefined || performance.now() + pauseMs >= until) {
          throw this.#known(error);
        }
        await sleep(pauseMs);
      }
    }
  }

  async #opened(
    path: string,
    timeoutMs: number,
  ): Promise<{ readonly request: ClientRequest; readonly answer: IncomingMessage }> {
    const request = this.#send({ method: 'GET', path });
    try {
      const answer = await answered(request, timeoutMs);
      if (answer.statusCode !== 200) throw refusal(answer, await bodyOf(answer));
      return { request, answer };
    } catch (error) {
      request.destroy();
      throw error;
    }
  }

  async #once(asked: ApiRequest, timeoutMs: number): Promise<ApiAnswer> {
    const request = this.#send(asked);
    try {
      const late = setTimeout(() => request.destroy(new LateError()), timeoutMs);
      try {
        const answer = await answered(request, timeoutMs);
        const body = await bodyOf(answer);
        const { statusCode: status = 0, headers } = answer;
        if (status < 200 || status >= 300) throw refusal(answer, body);
        return { headers, json: body === '' ? undefined : jsonIn(body) };
      } finally {
        clearTimeout(late);
      }
    } catch (error) {
      request.destroy();
      throw error;
    }
  }

  #send({ method, path, body }: Omit<ApiRequest, 'timeoutMs'>): ClientRequest {
    const url = new URL(`${this.url}/v1${path}`);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      Accept: 'application/json, text/event-stream',
      ...(this.#token === undefined ? {} : { Authorization: `Bearer ${this.#token}` }),
      ...(text === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(url, { method, headers, agent: this.#agent });
    request.end(text);
    return request;
  }

  /** An error of the connection as one line with a remedy. */
  #known(error: unknown): Error {
    if (error instanceof ApiRefusedError || error instanceof ApiUnreachableError) return error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const advice = UNTRUSTED.has(code)
      ? ': give the CA of its certificate by `brine login URL --ca FILE`, or NODE_EXTRA_CA_CERTS'
      : '';
    const text = error instanceof AggregateError ? code : errorText(error);
    return new ApiUnreachableError(`${this.url} can not be reached: ${text}${advice}`, {
      cause: error,
    });
  }
}

/** Errors of a certificate whose CA is not known. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

class LateError extends Error {
  constructor() {
    super('no answer in time');
    this.name = 'LateError';
  }
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Exit(EXIT.generic, `brine: ${errorText(error)}\n`);
  }
}

/** The pause before a retry, ms; undefined for an error that stays. */
function pauseAfter(error: unknown): number | undefined {
  if (error instanceof BusyError) return Math.min(PAUSE_MAX_MS, error.afterMs);
  return isSystemError(error, ...LOST) ? LOST_PAUSE_MS : undefined;
}

/** A 503, with the time after which the API has room again. */
class BusyError extends ApiRefusedError {
  readonly afterMs: number;

  constructor(code: string, text: string, afterMs: number) {
    super(503, code, text);
    this.afterMs = afterMs;
  }
}

function answered(request: ClientRequest, timeoutMs: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => request.destroy(new LateError()), timeoutMs);
    request.once('response', (answer) => {
      clearTimeout(late);
      resolve(answer);
    });
    // Stays: a connection may break once more after its answer.
    request.on('error', (error) => {
      clearTimeout(late);
      reject(error);
    });
  });
}

async function bodyOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > ANSWER_MAX_BYTES) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new ApiUnreachableError('the answer is no JSON: is this the address of a Brine master?', {
      cause,
    });
  }
}

/** The error that an answer is. */
function refusal({ statusCode: status = 0, headers }: IncomingMessage, body: string): Error {
  const isProblem = (headers['content-type'] ?? '').includes('problem+json');
  if (!isProblem && status !== 503) {
    const text = `the answer has status ${status}: is this the address of a Brine master?`;
    return new ApiUnreachableError(text);
  }
  const problem = (isProblem ? jsonIn(body) : {}) as Readonly<Record<string, unknown>>;
  const [code, title, detail] = ['code', 'title', 'detail'].map((name) => {
    const value = problem[name];
    return typeof value === 'string' ? value : '';
  });
  const text = detail || title || 'The API has no room';
  if (status !== 503) return new ApiRefusedError(status, code ?? '', text);
  const seconds = Number(headers['retry-after']);
  return new BusyError(code ?? '', text, seconds > 0 ? seconds * 1_000 : LOST_PAUSE_MS);
}

/** The lines of a stream. */
class Lines {
  readonly #onLine: (line: string) => void;
  #part: Buffer[] = [];
  #size = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Takes bytes; false if a line is longer than an answer may be. */
  take(chunk: Buffer): boolean {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#part.push(chunk.subarray(from, end));
      const line = Buffer.concat(this.#part).toString('utf8');
      this.#part = [];
      this.#size = 0;
      from = end + 1;
      this.#onLine(line);
    }
    const rest = chunk.subarray(from);
    this.#size += rest.length;
    if (rest.length > 0) this.#part.push(rest);
    return this.#size <= ANSWER_MAX_BYTES;
  }
}
