import type { Socket } from 'node:net';
import {
  handshake,
  isCommand,
  PING,
  pong,
  readReady,
  ZmtpReader,
  type ZmtpReady,
} from './frames.ts';

/** Bounds and callbacks of accepted connections, shared by all connections of a server. */
export interface ZmtpConnectionOptions {
  /** The socket type of this side. */
  readonly socketType: 'ROUTER' | 'PUB';
  /** Accepted socket types of the other side. */
  readonly accepts: readonly string[];
  /** Most bytes of one message; a peer that announces more is hung up on. */
  readonly maxMessageBytes: number;
  /** Most bytes that may wait until the other side reads them, unless it is one message. */
  readonly maxUnsentBytes: number;
  readonly onReady: (connection: ZmtpConnection) => void;
  /** A whole message. The frames belong to it and may be kept. */
  readonly onMessage: (connection: ZmtpConnection, frames: readonly Buffer[]) => void;
  /** The peer violated the protocol or a bound; its connection is about to end. */
  readonly onRefused: (connection: ZmtpConnection) => void;
  /** Either side has hung up; called once. */
  readonly onEnd: (connection: ZmtpConnection) => void;
}

// The first bytes of every connection.
const HANDSHAKES = { ROUTER: handshake('ROUTER', ''), PUB: handshake('PUB', '') } as const;

/**
 * An accepted connection that speaks ZMTP 3 with the NULL mechanism. Any violation ends it, since
 * the protocol has no message for errors.
 */
export class ZmtpConnection {
  /** Requests of this connection that are not answered yet. */
  inHand = 0;
  /** By the monotonic clock, in ms. */
  readonly openedAt = performance.now();
  readonly #socket: Socket;
  readonly #options: ZmtpConnectionOptions;
  readonly #reader: ZmtpReader;
  #ready: ZmtpReady | undefined;
  #receivedAt = this.openedAt;
  #answersPings = false;
  #unread: { readonly taken: number; readonly since: number } | undefined;
  #ended = false;

  constructor(socket: Socket, options: ZmtpConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    // This socket never reuses a chunk, so kept parts of it need no copy.
    this.#reader = new ZmtpReader(this, options.maxMessageBytes, { chunksAreOurs: true });
    socket.on('data', this.#take);
    socket.on('end', this.#end);
    socket.on('close', this.#end);
    // An error is always followed by 'close'.
    socket.on('error', ignore);
    socket.write(HANDSHAKES[options.socketType]);
  }

  /** True if the handshake is done. */
  get ready(): boolean {
    return this.#ready !== undefined;
  }

  /** True if either side has hung up, so that no answer can reach the peer. */
  get gone(): boolean {
    return this.#ended;
  }

  /** Address of the other side; empty after the connection has ended. */
  get address(): string {
    return this.#socket.remoteAddress ?? '';
  }

  /** Port of the other side; 0 after the connection has ended. */
  get port(): number {
    return this.#socket.remotePort ?? 0;
  }

  /** When bytes last came, by the monotonic clock, in ms. */
  get receivedAt(): number {
    return this.#receivedAt;
  }

  /** True once the peer has answered a PING. From then on its silence means something. */
  get answersPings(): boolean {
    return this.#answersPings;
  }

  /** Bytes of a message that has not come whole. */
  get keptBytes(): number {
    return this.#reader.keptBytes;
  }

  /** Bytes that the kernel has not taken yet. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /**
   * How long, in ms, the other side has read nothing that was sent to it; 0 if nothing waits. It
   * compares with the previous call, so call it repeatedly.
   */
  unreadMs(now: number): number {
    const unsent = this.#socket.writableLength;
    if (unsent === 0) {
      this.#unread = undefined;
      return 0;
    }
    const taken = this.#socket.bytesWritten - unsent;
    if (this.#unread?.taken !== taken) this.#unread = { taken, since: now };
    return now - this.#unread.since;
  }

  /**
   * Sends the bytes of one message, in one or two pieces. Returns false if the connection has
   * ended, or the other side reads too slowly.
   */
  send(bytes: Uint8Array, more?: Uint8Array): boolean {
    const socket = this.#socket;
    if (this.#ended || !socket.writable) return false;
    const unsent = socket.writableLength;
    const length = bytes.length + (more?.length ?? 0);
    if (unsent > 0 && unsent + length > this.#options.maxUnsentBytes) return false;
    if (more === undefined) {
      socket.write(bytes);
      return true;
    }
    socket.cork();
    socket.write(bytes);
    socket.write(more);
    socket.uncork();
    return true;
  }

  /** Pings the other side, unless it has not read the earlier bytes. */
  ping(): void {
    if (!this.#ended && this.#socket.writableLength === 0) this.#socket.write(PING);
  }

  /** Hangs up at once. */
  destroy(): void {
    this.#socket.destroy();
    this.#end();
  }

  /** Hangs up because the other side violated the protocol or a bound. */
  refuse(): void {
    if (this.#ended) return;
    this.#options.onRefused(this);
    this.destroy();
  }

  /** Hangs up when the kernel has taken all that was sent. */
  finish(): void {
    this.#socket.end(() => this.destroy());
  }

  onMessage(frames: readonly Buffer[]): void {
    if (this.#ended) return;
    if (this.#ready === undefined) this.refuse();
    else this.#options.onMessage(this, frames);
  }

  onCommand(body: Buffer): void {
    if (this.#ended) return;
    if (this.#ready === undefined) this.#shakeHands(body);
    else if (isCommand(body, 'PONG')) this.#answersPings = true;
    else if (isCommand(body, 'PING')) this.#pong(body);
    else if (isCommand(body, 'ERROR')) this.destroy();
    // Other commands are ignored.
  }

  readonly #take = (chunk: Buffer): void => {
    if (this.#ended) return;
    this.#receivedAt = performance.now();
    try {
      this.#reader.take(chunk);
    } catch {
      // Not ZMTP, or the message is too long.
      this.refuse();
    }
  };

  /** Pongs are not queued for a peer that does not read them. */
  #pong(ping: Buffer): void {
    if (this.#socket.writableLength === 0) this.#socket.write(pong(ping));
  }

  #shakeHands(body: Buffer): void {
    const ready = readReady(body);
    if (ready === undefined || !this.#options.accepts.includes(ready.socketType)) {
      this.refuse();
      return;
    }
    this.#ready = ready;
    this.#options.onReady(this);
  }

  readonly #end = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.onEnd(this);
  };
}

function ignore(): void {
  // Nothing to do: see above.
}
