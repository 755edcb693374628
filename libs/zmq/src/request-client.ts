import { Request } from 'zeromq';
import { isIpv6Endpoint, SALT_TCP_KEEPALIVE } from './endpoint.ts';
import { ZmqError } from './errors.ts';

/** Options of a {@link RequestClient}. */
export interface RequestClientOptions {
  /** e.g. `tcp://127.0.0.1:4506` */
  readonly endpoint: string;
  /** Salt: option `linger`, 0: a request that was not sent is dropped at close. */
  readonly lingerMs?: number;
  /** Longest reply in bytes; -1 (default) for no limit. */
  readonly maxMessageBytes?: number;
}

/** How long one request may take. */
export interface RequestOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

// Salt: RECONNECT_IVL_MAX of the REQ socket (salt/transport/zeromq.py).
const RECONNECT_MAX_MS = 5000;

/**
 * A peer of port 4506: one request in flight, the others wait for their turn. The wire has no
 * correlation, so after a timeout the client opens a new socket. A late answer then reaches no
 * other request.
 *
 * Salt: salt/transport/zeromq.py RequestClient
 */
export class RequestClient implements AsyncDisposable {
  readonly #options: RequestClientOptions;
  readonly #end = new AbortController();
  #socket: Request | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #onLost: (() => void) | undefined;

  constructor(options: RequestClientOptions) {
    this.#options = options;
  }

  /**
   * Sends the body and waits for the answer. The time counts from the moment when the request is
   * sent, not while earlier ones of the same client are in flight.
   *
   * @throws ZmqError `SALT_ZMQ_TIMEOUT`, `SALT_ZMQ_LOST` when the peer disconnected with the
   *   request in flight, `SALT_ZMQ_ABORTED`, `SALT_ZMQ_CLOSED`, `SALT_ZMQ_SOCKET`
   */
  request(body: Uint8Array, options: RequestOptions): Promise<Buffer> {
    const result = this.#turn.then(() => this.#exchange(body, options));
    // The next request must wait for this one, even if it fails.
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Ends the request in flight with `SALT_ZMQ_CLOSED`. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#end.abort();
    await this.#turn;
    this.#drop();
  }

  async #exchange(body: Uint8Array, options: RequestOptions): Promise<Buffer> {
    if (this.#end.signal.aborted) throw new ZmqError('SALT_ZMQ_CLOSED', 'the client is closed');
    if (options.signal?.aborted === true) throw aborted(options.signal);
    const socket = this.#open();
    const limit = deadline(options, this.#end.signal);
    const lost = new Promise<never>((_resolve, reject) => {
      this.#onLost = () => reject(new ZmqError('SALT_ZMQ_LOST', 'the connection was lost'));
    });
    try {
      return await Promise.race([exchange(socket, body), limit.reached, lost]);
    } catch (error) {
      // This socket may still get the answer to the request that failed.
      this.#drop();
      if (error instanceof ZmqError) throw error;
      throw new ZmqError('SALT_ZMQ_SOCKET', 'the request could not be sent', error);
    } finally {
      this.#onLost = undefined;
      limit.stop();
    }
  }

  #open(): Request {
    if (this.#socket !== undefined) return this.#socket;
    const socket = new Request({
      ...SALT_TCP_KEEPALIVE,
      ipv6: isIpv6Endpoint(this.#options.endpoint),
      linger: this.#options.lingerMs ?? 0,
      maxMessageSize: this.#options.maxMessageBytes ?? -1,
      reconnectMaxInterval: RECONNECT_MAX_MS,
    });
    // libzmq reconnects by itself, but the requests that the peer had are lost: no answer to them
    // would ever come. A connection that was never up loses nothing: the request waits for it.
    socket.events.on('disconnect', () => {
      if (this.#socket === socket) this.#onLost?.();
    });
    socket.connect(this.#options.endpoint);
    this.#socket = socket;
    return socket;
  }

  #drop(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }
}

async function exchange(socket: Request, body: Uint8Array): Promise<Buffer> {
  await socket.send(body);
  const frames = await socket.receive();
  const reply = frames[0];
  if (reply === undefined) throw new ZmqError('SALT_ZMQ_SOCKET', 'a reply without a frame');
  return reply;
}

function deadline(
  options: RequestOptions,
  end: AbortSignal,
): { readonly reached: Promise<never>; stop(): void } {
  let stop = (): void => undefined;
  const reached = new Promise<never>((_resolve, reject) => {
    const timer = setTimeout(() => {
      const text = `no reply within ${String(options.timeoutMs)} ms`;
      reject(new ZmqError('SALT_ZMQ_TIMEOUT', text));
    }, options.timeoutMs);
    const onAbort = (): void => reject(aborted(options.signal));
    const onEnd = (): void => reject(new ZmqError('SALT_ZMQ_CLOSED', 'the client was closed'));
    options.signal?.addEventListener('abort', onAbort, { once: true });
    end.addEventListener('abort', onEnd, { once: true });
    stop = (): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
      end.removeEventListener('abort', onEnd);
    };
  });
  return { reached, stop: () => stop() };
}

function aborted(signal: AbortSignal | undefined): ZmqError {
  return new ZmqError('SALT_ZMQ_ABORTED', 'the request was aborted', signal?.reason);
}
