import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IpcFraming } from '@brine/wire/frames';
import { ipcFrame } from '@brine/wire/frames';
import { LateWakes } from './late-wakes.ts';
import { type BoundSocket, listenOn } from './listen.ts';

/** Options of {@link EventPublisher.listen}. */
export interface EventPublisherOptions {
  readonly path: string;
  readonly framing: IpcFraming;
  /**
   * File mode: 0o600, or 0o660 with publisher_acl or external_auth (Salt: salt/utils/event.py
   * EventPublisher.run).
   */
  readonly mode?: number;
  /** Bytes that may wait for one reader (`ipc_write_buffer`); above it the reader is dropped. */
  readonly maxBufferedBytes?: number;
  /** Bytes that may wait for all readers of this socket; above it the slowest is dropped. */
  readonly maxTotalBufferedBytes?: number;
  readonly maxReaders?: number;
  readonly socket?: BoundSocket;
}

/** Counts of one socket. */
export interface EventPublisherStats {
  readonly readers: number;
  readonly accepted: number;
  readonly events: number;
  /** Readers that were disconnected because they did not read. */
  readonly droppedReaders: number;
  /** Connections refused because there were too many. */
  readonly refusedReaders: number;
}

/** A `salt` CLI on a busy machine stays connected while 10,000 returns of 5 KB wait for it. */
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;
const MAX_TOTAL_BUFFERED_BYTES = 512 * 1024 * 1024;
const MAX_READERS = 1024;
/** A reader that is connected for longer than this is no CLI that just started. */
const NEW_READER_MS = 15_000;

/** How long an end waits for readers to read the rest. */
const LAST_EVENTS_MS = 1_000;

/** Frames of one turn of the loop are joined, up to this many bytes. */
const TURN_BYTES = 64 * 1024;

/** Connections that the system queues until this process accepts them (Node's `backlog`). */
const BACKLOG = 511;

/**
 * The socket `master_event_pub.ipc`: every reader gets every event from its connect on, if {@link
 * EventPublisher.arrivals} is awaited before received events are published.
 */
export class EventPublisher {
  readonly path: string;
  readonly framing: IpcFraming;
  readonly #server: Server;
  readonly #limits: { readonly one: number; readonly total: number; readonly readers: number };
  /** When each connected, by the monotonic clock. */
  readonly #readers = new Map<Socket, number>();
  readonly #wakes = new LateWakes(() => this.#wakeNewReaders());
  #wakeFrame: Uint8Array | undefined;
  #turn: Uint8Array[] = [];
  #turnBytes = 0;
  readonly #counts = { accepted: 0, events: 0, droppedReaders: 0, refusedReaders: 0 };
  #closing: Promise<void> | undefined;

  private constructor(options: EventPublisherOptions) {
    this.path = options.path;
    this.framing = options.framing;
    this.#limits = {
      one: options.maxBufferedBytes ?? MAX_BUFFERED_BYTES,
      total: options.maxTotalBufferedBytes ?? MAX_TOTAL_BUFFERED_BYTES,
      readers: options.maxReaders ?? MAX_READERS,
    };
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Serves the socket. Throws IpcError when the path is too long or served by another process. */
  static async listen(options: EventPublisherOptions): Promise<EventPublisher> {
    const publisher = new EventPublisher(options);
    await listenOn(publisher.#server, options.path, options.mode ?? 0o600, options.socket);
    return publisher;
  }

  /** How many readers are connected: without any, an event need not even be encoded. */
  get readers(): number {
    return this.#readers.size;
  }

  /**
   * Resolves when every client that connected before this call is a reader. The system completes a
   * connection at once, but this process accepts only one per turn of the loop. A client may have
   * sent a request meanwhile, and its event would come before the client is a reader.
   */
  async arrivals(): Promise<void> {
    const taken = (): number => this.#counts.accepted + this.#counts.refusedReaders;
    // The current turn may have checked the socket before they came.
    await nextTurn();
    for (let turns = 0; turns < BACKLOG; turns += 1) {
      const before = taken();
      await nextTurn();
      if (taken() === before) return;
    }
  }

  /** Sends one event (`packEvent` bytes) to all readers. Never waits for any of them. */
  publish(event: Uint8Array): void {
    this.#counts.events += 1;
    if (this.#readers.size === 0) return;
    this.publishFrame(ipcFrame(event, this.framing));
  }

  /**
   * As {@link publish} for a ready frame, in this socket's framing. Frames of one turn are one
   * write for each reader: single writes to fifty readers of 5,000 events a second are more than a
   * process can do.
   */
  publishFrame(frame: Uint8Array): void {
    if (this.#readers.size === 0) return;
    this.#turn.push(frame);
    this.#turnBytes += frame.length;
    if (this.#turnBytes >= TURN_BYTES) this.#endTurn();
    else if (this.#turn.length === 1) setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    const [first] = this.#turn;
    if (first === undefined) return;
    const isOne = this.#turn.length === 1;
    const chunk = isOne ? first : Buffer.concat(this.#turn, this.#turnBytes);
    this.#turn = [];
    this.#turnBytes = 0;
    let total = 0;
    for (const reader of this.#readers.keys()) {
      reader.write(chunk);
      if (reader.writableLength > this.#limits.one) this.#drop(reader);
      else total += reader.writableLength;
    }
    if (total > this.#limits.total) this.#dropSlowest();
  }

  /**
   * Sends `frame` a few times within the next seconds to new readers. A CLI of 3007 overlooks bytes
   * that are on its socket before it first reads, until one more byte arrives. (Salt:
   * salt/transport/tcp.py PublishClient.recv asks the socket, while the bytes are in its stream's
   * buffer already; that of 3008.2 does not.) Stock masters are too slow for it to happen often.
   */
  wakeNewReaders(frame: Uint8Array): void {
    this.#wakeFrame = frame;
    if (this.#readers.size > 0) this.#wakes.start();
  }

  stats(): EventPublisherStats {
    return { readers: this.#readers.size, ...this.#counts };
  }

  /** Accepts no more readers, and continues to serve the connected ones. */
  stopListening(): void {
    this.#server.close();
  }

  /**
   * Stops serving, disconnects the readers and removes the socket file. Readers get their waiting
   * events first, except a reader that reads nothing: it would delay the end for ever.
   */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#wakes.stop();
      this.#endTurn();
      const late = setTimeout(() => {
        for (const reader of this.#readers.keys()) reader.destroy();
      }, LAST_EVENTS_MS);
      this.#server.close(() => {
        clearTimeout(late);
        resolve();
      });
      for (const reader of this.#readers.keys()) reader.destroySoon();
    });
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #accept(socket: Socket): void {
    if (this.#readers.size >= this.#limits.readers) {
      this.#counts.refusedReaders += 1;
      socket.destroy();
      return;
    }
    // The new reader gets events from now on.
    this.#endTurn();
    this.#counts.accepted += 1;
    this.#readers.set(socket, performance.now());
    socket.once('close', () => this.#readers.delete(socket));
    // A reader that goes away is no fault; 'close' follows.
    socket.on('error', () => socket.destroy());
    // Reads to see the end of the connection; readers send nothing.
    socket.resume();
  }

  #wakeNewReaders(): void {
    const frame = this.#wakeFrame;
    const since = performance.now() - NEW_READER_MS;
    if (frame === undefined) return;
    this.#endTurn();
    for (const [reader, connectedAt] of this.#readers) {
      // A reader with bytes waiting wakes by itself.
      if (connectedAt > since && reader.writableLength === 0) reader.write(frame);
    }
  }

  #drop(reader: Socket): void {
    this.#counts.droppedReaders += 1;
    this.#readers.delete(reader);
    reader.destroy();
  }

  #dropSlowest(): void {
    let slowest: Socket | undefined;
    for (const reader of this.#readers.keys()) {
      if (slowest === undefined || reader.writableLength > slowest.writableLength) slowest = reader;
    }
    if (slowest) this.#drop(slowest);
  }
}
