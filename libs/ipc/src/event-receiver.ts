import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { IpcReader } from '@brine/wire/frames';
import { type BoundSocket, listenOn } from './listen.ts';

/** Options of {@link EventReceiver.listen}. */
export interface EventReceiverOptions {
  readonly path: string;
  /** File mode, default 0o600. */
  readonly mode?: number;
  /** Largest frame, default 64 MiB; a longer one ends its connection. */
  readonly maxFrameBytes?: number;
  readonly maxWriters?: number;
  readonly socket?: BoundSocket;
  /** Called for each event (`packEvent` bytes) in the order of its connection. While the promise
   * of one is open, its connection is not read: the writer waits. A rejection is counted. */
  readonly onEvent: (event: Uint8Array) => Promise<void>;
}

/** Counts of one socket. */
export interface EventReceiverStats {
  readonly writers: number;
  readonly events: number;
  /** Connections ended because of bytes that are no frames. */
  readonly badConnections: number;
  readonly failedEvents: number;
}

const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const MAX_WRITERS = 1024;

/** The socket `master_event_pull.ipc`: local tools write events to it, in either framing. */
export class EventReceiver {
  readonly path: string;
  readonly #server: Server;
  readonly #options: EventReceiverOptions;
  readonly #writers = new Set<Socket>();
  readonly #counts = { events: 0, badConnections: 0, failedEvents: 0 };
  #closing: Promise<void> | undefined;

  private constructor(options: EventReceiverOptions) {
    this.path = options.path;
    this.#options = options;
    // Half open: a tool that writes and ends at once must still be read to the end.
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
  }

  /** Serves the socket. Throws IpcError when the path is too long or served by another process. */
  static async listen(options: EventReceiverOptions): Promise<EventReceiver> {
    const receiver = new EventReceiver(options);
    await listenOn(receiver.#server, options.path, options.mode ?? 0o600, options.socket);
    return receiver;
  }

  stats(): EventReceiverStats {
    return { writers: this.#writers.size, ...this.#counts };
  }

  /** Accepts no more writers, and continues to read the connected ones. */
  stopListening(): void {
    this.#server.close();
  }

  /** Stops serving, disconnects the writers and removes the socket file. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const writer of this.#writers) writer.destroy();
    });
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #accept(socket: Socket): void {
    if (this.#writers.size >= (this.#options.maxWriters ?? MAX_WRITERS)) {
      this.#counts.badConnections += 1;
      socket.destroy();
      return;
    }
    this.#writers.add(socket);
    socket.once('close', () => this.#writers.delete(socket));
    // A writer that ends in the middle of a frame sent no event; 'close' follows.
    socket.on('error', () => socket.destroy());
    void this.#read(socket);
  }

  async #read(socket: Socket): Promise<void> {
    const reader = new IpcReader('auto', this.#options.maxFrameBytes ?? MAX_FRAME_BYTES);
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        for (const event of reader.push(chunk)) await this.#deliver(event);
      }
    } catch {
      // No frames, or the connection broke: nothing more can come from it.
      this.#counts.badConnections += 1;
    }
    socket.destroy();
  }

  async #deliver(event: Uint8Array): Promise<void> {
    this.#counts.events += 1;
    try {
      await this.#options.onEvent(event);
    } catch {
      // An event that could not be stored must not end the connection; the count is shown.
      this.#counts.failedEvents += 1;
    }
  }
}
