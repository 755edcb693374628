import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { constants, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';

/** A peer that is unreachable is noticed, although nothing is sent to it: first probe, ms. */
const KEEP_ALIVE_MS = 60_000;

/** Errors of the parser of HTTP/1.1; each other one is 400. */
const STATUS: ReadonlyMap<string, number> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
  ['HPE_HEADER_OVERFLOW', 431],
]);

/** The connections of one server, of HTTP/1.1 and HTTP/2, with TLS and without. */
export class Connections {
  readonly #errorPage: (status: number) => string;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Answers in flight of each connection of HTTP/1.1 that has had a request. */
  readonly #inFlight = new Map<Socket, Set<ServerResponse>>();
  #isDraining = false;

  /** @param requestMs until the whole of a request is here */
  constructor(server: Server, errorPage: (status: number) => string, requestMs: number) {
    this.#errorPage = errorPage;
    // Without a listener, an error of the system at a new connection would end the process.
    server.on('error', () => undefined);
    server.on('connection', (socket: Socket) => {
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    server.on('request', (request: IncomingMessage | Http2ServerRequest, answer) => {
      if ('stream' in request) endLate(request, requestMs);
      else this.#count(request, answer);
    });
    server.removeAllListeners('clientError');
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#refuse(error, socket as Socket),
    );
  }

  /** Open connections. */
  get count(): number {
    return this.#sockets.size;
  }

  /** Ends the connections without a request in flight, and the others after their answers. */
  drain(): void {
    this.#isDraining = true;
    for (const session of this.#sessions) session.close();
    for (const [socket, answers] of this.#inFlight) if (answers.size === 0) socket.destroy();
  }

  /** Ends all connections at once. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #count({ socket }: IncomingMessage, response: ServerResponse): void {
    let answers = this.#inFlight.get(socket);
    if (answers === undefined) {
      answers = new Set();
      this.#inFlight.set(socket, answers);
      socket.once('close', () => this.#inFlight.delete(socket));
    }
    answers.add(response);
    response.once('close', () => {
      answers.delete(response);
      if (answers.size === 0 && this.#isDraining) socket.destroySoon();
    });
  }

  /** Answers bytes that are no request. */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    // In the middle of another answer, a page would be read as a part of it.
    const hasBegun = [...(this.#inFlight.get(socket) ?? [])].some((one) => one.headersSent);
    if (error.code === 'ECONNRESET' || hasBegun || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = STATUS.get(error.code ?? '') ?? 400;
    const page = this.#errorPage(status);
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n` +
        'Content-Type: text/html;charset=utf-8\r\nConnection: close\r\n' +
        `Content-Length: ${Buffer.byteLength(page)}\r\n\r\n${page}`,
    );
    socket.destroySoon();
  }
}

/** True for a request of HTTP/2 that was reset, or whose connection ended, before its end. */
export function isCutOff({ stream, aborted }: Http2ServerRequest): boolean {
  return aborted || stream.aborted;
}

/** Streams whose peer has not ended its request. */
const UNENDED: ReadonlySet<number | undefined> = new Set([
  constants.NGHTTP2_STREAM_STATE_OPEN,
  constants.NGHTTP2_STREAM_STATE_HALF_CLOSED_LOCAL,
]);

/** Ends a request of HTTP/2 that is not here in time: Node does so for HTTP/1.1 alone. */
function endLate({ stream }: Http2ServerRequest, requestMs: number): void {
  if (stream.endAfterHeaders) return;
  const late = setTimeout(() => {
    if (UNENDED.has(stream.state.state)) stream.close(constants.NGHTTP2_CANCEL);
  }, requestMs);
  stream.once('close', () => clearTimeout(late));
}
