import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { Wakeup } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';
import { unpackMap } from '@brine/wire';
import type { IpcFraming } from '@brine/wire/frames';
import { ipcFrame, IpcReader, packEvent, splitEvent } from '@brine/wire/frames';
import { IpcError } from './errors.ts';
import { checkSocketPath } from './listen.ts';

/** An event as a local reader gets it. */
export class LocalEvent {
  readonly tag: string;
  /** The packed map. */
  readonly packed: Uint8Array;
  #data: SaltMap | undefined;

  constructor(tag: string, packed: Uint8Array) {
    this.tag = tag;
    this.packed = packed;
  }

  /** The map, unpacked at the first call. Throws WireError if it is invalid. */
  get data(): SaltMap {
    this.#data ??= unpackMap(this.packed);
    return this.#data;
  }
}

/** Options of {@link EventClient.connect}. */
export interface EventClientOptions {
  /** `<sock_dir>/master_event_pub.ipc`. */
  readonly path: string;
  /** Default `auto`: detected from the first byte. */
  readonly framing?: IpcFraming | 'auto';
  readonly timeoutMs?: number;
  /** Only events whose tag this accepts are kept. Default: all. */
  readonly accept?: (tag: string) => boolean;
  /** Bytes that may wait for the consumer, default 256 MiB; above it the iteration throws. */
  readonly maxBufferedBytes?: number;
  readonly maxFrameBytes?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_BUFFERED_BYTES = 256 * 1024 * 1024;
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/**
 * A reader of the master's event socket. Connect before publishing: earlier events never come.
 * Iteration ends when closed; it throws IpcError when the connection is lost.
 */
export class EventClient implements AsyncIterable<LocalEvent> {
  readonly #socket: Socket;
  readonly #options: EventClientOptions;
  readonly #reader: IpcReader;
  #queue: LocalEvent[] = [];
  #queuedBytes = 0;
  #ended = false;
  #failure: IpcError | undefined;
  readonly #news = new Wakeup();

  private constructor(socket: Socket, options: EventClientOptions) {
    this.#socket = socket;
    this.#options = options;
    const maxBytes = options.maxFrameBytes ?? MAX_FRAME_BYTES;
    this.#reader = new IpcReader(options.framing ?? 'auto', maxBytes);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (cause) => this.#end(lost(options.path, cause)));
    socket.on('close', () => this.#end(lost(options.path)));
  }

  /** Connects; throws IpcError SALT_IPC_CONNECT when no process serves the socket. */
  static async connect(options: EventClientOptions): Promise<EventClient> {
    const timeoutMs = options.timeoutMs ?? CONNECT_TIMEOUT_MS;
    return new EventClient(await connectTo(options.path, timeoutMs), options);
  }

  /** Closes the connection; iteration ends after the events that have come. */
  close(): void {
    this.#end(undefined);
    this.#socket.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LocalEvent> {
    for (;;) {
      const events = this.#queue;
      this.#queue = [];
      this.#queuedBytes = 0;
      yield* events;
      if (this.#queue.length > 0) continue;
      if (this.#failure) throw this.#failure;
      if (this.#ended) return;
      await this.#news.wait();
    }
  }

  #take(chunk: Buffer): void {
    if (this.#ended) return;
    try {
      for (const body of this.#reader.push(chunk)) this.#keep(body);
    } catch (cause) {
      this.#end(new IpcError('SALT_IPC_LOST', 'event socket sent an invalid event', { cause }));
      this.#socket.destroy();
    }
    this.#news.wake();
  }

  #keep(body: Uint8Array): void {
    const { tag, data } = splitEvent(body);
    if (this.#options.accept && !this.#options.accept(tag)) return;
    this.#queue.push(new LocalEvent(tag, data));
    this.#queuedBytes += body.length;
    if (this.#queuedBytes <= (this.#options.maxBufferedBytes ?? MAX_BUFFERED_BYTES)) return;
    this.#end(new IpcError('SALT_IPC_OVERFLOW', 'events came faster than they were taken'));
    this.#socket.destroy();
  }

  #end(failure: IpcError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#news.wake();
  }
}

/** Where and how {@link fireEvent} writes. */
export interface FireOptions {
  /** `<sock_dir>/master_event_pull.ipc`. */
  readonly path: string;
  /** Default `bare`, which every Brine and every stock master but 3006.26 and 3008 reads. */
  readonly framing?: IpcFraming;
  readonly timeoutMs?: number;
}

/**
 * Writes one event to the master's pull socket; `data` is a map packed in bin mode, with `_stamp`.
 * Resolves when the system has taken all bytes; the socket answers nothing. Throws IpcError when no
 * process serves it.
 */
export async function fireEvent(
  tag: string,
  data: Uint8Array,
  options: FireOptions,
): Promise<void> {
  const socket = await connectTo(options.path, options.timeoutMs ?? CONNECT_TIMEOUT_MS);
  await new Promise<void>((resolve, reject) => {
    socket.once('error', (cause) => reject(lost(options.path, cause)));
    socket.end(ipcFrame(packEvent(tag, data), options.framing ?? 'bare'), () => resolve());
  });
  socket.destroy();
}

function connectTo(path: string, timeoutMs: number): Promise<Socket> {
  checkSocketPath(path);
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    const fail = (reason: string, cause?: unknown): void => {
      socket.destroy();
      reject(new IpcError('SALT_IPC_CONNECT', `${path}: ${reason}`, { cause }));
    };
    const timer = setTimeout(() => fail(`no connection within ${timeoutMs} ms`), timeoutMs);
    socket.once('error', (cause) => {
      clearTimeout(timer);
      fail('no service listens on this event socket', cause);
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve(socket);
    });
  });
}

function lost(path: string, cause?: unknown): IpcError {
  return new IpcError('SALT_IPC_LOST', `${path}: connection to the event socket was lost`, {
    cause,
  });
}
