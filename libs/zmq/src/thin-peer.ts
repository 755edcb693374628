import { connect, type Socket } from 'node:net';
import {
  encodeMessage,
  encodeRequest,
  handshake,
  isCommand,
  pong,
  ZmtpReader,
} from './zmtp/frames.ts';

/** Options of a {@link ThinPeer}. */
export interface ThinPeerOptions {
  /** Default loopback. */
  readonly host?: string;
  readonly port: number;
  /** Socket type announced in READY, default `REQ`. */
  readonly socketType?: string;
  /** Identity announced in READY, default none as Salt's REQ sockets. */
  readonly identity?: string;
  /** A peer that announces a longer message is cut off. Default 100 MiB, as Salt's unpackers. */
  readonly maxMessageBytes?: number;
  /** How long connecting and the handshake may take, in ms; default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Silence after which TCP probes whether the other side is there, in ms; default never. */
  readonly keepAliveMs?: number;
  /** Gets each message. The frames are views of a reused buffer: copy them to keep them. */
  readonly onMessage: (frames: Buffer[]) => void;
  /** Called once when the connection has ended, by either side. */
  readonly onClose?: () => void;
}

const MAX_MESSAGE_BYTES = 104_857_600;
const CONNECT_TIMEOUT_MS = 10_000;
/** Shared by all sockets: each read is processed before the next one begins. */
const READ_BUFFER = Buffer.alloc(65_536);

/**
 * A ZeroMQ peer of a few hundred bytes over a plain TCP socket (ZMTP 3.0, NULL mechanism). One
 * process can have thousands, where libzmq costs too much per socket. It may send bytes that libzmq
 * never would. It neither reconnects nor queues.
 */
export class ThinPeer {
  readonly #socket: Socket;
  readonly #options: ThinPeerOptions;
  readonly #reader: ZmtpReader;
  readonly #onReady: () => void;
  #closed = false;

  private constructor(socket: Socket, options: ThinPeerOptions, onReady: () => void) {
    this.#socket = socket;
    this.#options = options;
    this.#onReady = onReady;
    const events = {
      onMessage: options.onMessage,
      onCommand: (body: Buffer): void => this.#command(body),
    };
    this.#reader = new ZmtpReader(events, options.maxMessageBytes ?? MAX_MESSAGE_BYTES);
    socket.setNoDelay(true);
    if (options.keepAliveMs !== undefined) socket.setKeepAlive(true, options.keepAliveMs);
  }

  /**
   * Connects and shakes hands; rejects when the connection is refused, ended, or too slow. Send
   * nothing before the other side's READY: libzmq may treat it as a protocol error.
   */
  static open(options: ThinPeerOptions): Promise<ThinPeer> {
    return new Promise((resolve, reject) => {
      let peer: ThinPeer | undefined;
      const socket = connect({
        host: options.host ?? '127.0.0.1',
        port: options.port,
        // Bypasses the stream. A buffer of 64 KiB for each of ten thousand reads a second, and the
        // work of a Readable around it, took a third of the load rig's own time.
        onread: {
          buffer: READ_BUFFER,
          callback: (bytes) => {
            if (peer !== undefined) peer.#take(READ_BUFFER.subarray(0, bytes));
            return true;
          },
        },
      });
      let cause: Error | undefined;
      let ready = false;
      const timer = setTimeout(
        () => socket.destroy(new Error('no ZeroMQ handshake in time')),
        options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      );
      socket.once('connect', () => {
        const made = new ThinPeer(socket, options, () => {
          ready = true;
          clearTimeout(timer);
          resolve(made);
        });
        peer = made;
        socket.write(handshake(options.socketType ?? 'REQ', options.identity ?? ''));
      });
      // An error is always followed by 'close'.
      socket.on('error', (error) => (cause = error));
      socket.once('close', () => {
        clearTimeout(timer);
        if (!ready) return reject(new Error('connection closed', { cause }));
        if (peer !== undefined) peer.#end();
      });
    });
  }

  /** True if the other side (or {@link close}) has ended the connection. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Bytes that the system has not taken yet. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Writes bytes as they are, past all framing. */
  raw(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Sends one message of these frames. */
  send(frames: readonly Uint8Array[]): void {
    this.#socket.write(encodeMessage(frames));
  }

  /** Sends `[empty][body]` as a REQ does; the body is these parts in a row. */
  sendRequest(parts: readonly Uint8Array[]): void {
    this.#socket.write(encodeRequest(parts));
  }

  /** For a peer that announced SUB: asks for a topic, '' for everything. */
  subscribe(topic = ''): void {
    this.send([Buffer.concat([Buffer.from([1]), Buffer.from(topic)])]);
  }

  close(): void {
    this.#socket.destroy();
    this.#end();
  }

  /** Notifies the owner, once. */
  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.onClose?.();
  }

  #take(chunk: Buffer): void {
    try {
      this.#reader.take(chunk);
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #command(body: Buffer): void {
    if (isCommand(body, 'READY')) this.#onReady();
    else if (isCommand(body, 'PING')) this.#socket.write(pong(body));
  }
}
