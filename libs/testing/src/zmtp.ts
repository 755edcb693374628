import { connect, type Socket } from 'node:net';

/** How a {@link ZmtpPeer} connects. */
export interface ZmtpPeerOptions {
  readonly host?: string;
  readonly port: number;
  /** Socket type announced in READY, default `REQ`. */
  readonly socketType?: string;
  /** Identity announced in READY, default none as Salt's REQ sockets. */
  readonly identity?: string;
}

const HANDSHAKE_BYTES = 64;
const FLAG_MORE = 1;
const FLAG_LONG = 2;
const FLAG_COMMAND = 4;

/**
 * A ZeroMQ peer of a few hundred bytes over a plain TCP socket (ZMTP 3.0, NULL mechanism):
 * cheap enough for thousands in one test process, and it may send what libzmq never would.
 */
export class ZmtpPeer {
  readonly #socket: Socket;
  readonly #messages: Buffer[][] = [];
  readonly #wanted: {
    readonly resolve: (frames: Buffer[]) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = [];
  readonly #onReady: () => void;
  #greeted = false;
  #closed = false;

  private constructor(socket: Socket, onReady: () => void) {
    this.#socket = socket;
    this.#onReady = onReady;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('close', () => this.#end());
    // An error is always followed by 'close', which is what the waiting side hears.
    socket.on('error', () => undefined);
  }

  /**
   * Connects and shakes hands; rejects when the connection is refused or ended. Nothing may be
   * sent before the other side's READY: libzmq takes it for a protocol error if it is early enough.
   */
  static open(options: ZmtpPeerOptions): Promise<ZmtpPeer> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: options.host ?? '127.0.0.1', port: options.port });
      socket.once('error', reject);
      socket.once('connect', () => {
        const peer = new ZmtpPeer(socket, () => resolve(peer));
        socket.once('close', () => reject(new Error('connection closed')));
        socket.write(Buffer.concat([greeting(), ready(options)]));
      });
    });
  }

  /** Whether the other side (or {@link close}) has ended the connection. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Writes bytes as they are, past all framing. */
  raw(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Sends one message of these frames. */
  send(frames: readonly Uint8Array[]): void {
    this.#socket.write(encodeMessage(frames));
  }

  /** The next message; rejects when the connection ends or the time is up. */
  receive(timeoutMs: number): Promise<Buffer[]> {
    const next = this.#messages.shift();
    if (next !== undefined) return Promise.resolve(next);
    if (this.#closed) return Promise.reject(new Error('connection closed'));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const index = this.#wanted.indexOf(entry);
        if (index >= 0) this.#wanted.splice(index, 1);
        reject(new Error(`nothing received within ${String(timeoutMs)} ms`));
      }, timeoutMs);
      const entry = {
        resolve: (frames: Buffer[]): void => {
          clearTimeout(timer);
          resolve(frames);
        },
        reject: (error: Error): void => {
          clearTimeout(timer);
          reject(error);
        },
      };
      this.#wanted.push(entry);
    });
  }

  /** Sends `[empty][body]` as a REQ does and returns the payload of the answer. */
  async request(body: Uint8Array, timeoutMs: number): Promise<Buffer> {
    this.send([EMPTY, body]);
    const frames = await this.receive(timeoutMs);
    const payload = frames[1];
    if (frames.length !== 2 || payload === undefined || frames[0]?.length !== 0) {
      throw new Error(`an answer of ${String(frames.length)} frames`);
    }
    return payload;
  }

  /** For a peer that announced SUB: asks for a topic, '' for everything. */
  subscribe(topic = ''): void {
    this.send([Buffer.concat([Buffer.from([1]), Buffer.from(topic)])]);
  }

  close(): void {
    this.#socket.destroy();
    this.#end();
  }

  #end(): void {
    this.#closed = true;
    for (const waiting of this.#wanted.splice(0)) waiting.reject(new Error('connection closed'));
  }

  #take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (!this.#greeted) {
      if (this.#rest.length < HANDSHAKE_BYTES) return;
      this.#rest = this.#rest.subarray(HANDSHAKE_BYTES);
      this.#greeted = true;
    }
    for (;;) {
      const frame = firstFrame(this.#rest);
      if (frame === undefined) return;
      this.#rest = this.#rest.subarray(frame.end);
      this.#frame(frame.flags, frame.body);
    }
  }

  #frame(flags: number, body: Buffer): void {
    if ((flags & FLAG_COMMAND) !== 0) {
      if (isCommand(body, 'READY')) this.#onReady();
      if (isCommand(body, 'PING')) this.#socket.write(pong(body));
      return;
    }
    this.#parts.push(Buffer.from(body));
    if ((flags & FLAG_MORE) !== 0) return;
    const message = this.#parts;
    this.#parts = [];
    const waiting = this.#wanted.shift();
    if (waiting === undefined) this.#messages.push(message);
    else waiting.resolve(message);
  }
}

const EMPTY = Buffer.alloc(0);

/** The bytes of one ZMTP message of these frames. */
export function encodeMessage(frames: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = [];
  frames.forEach((body, index) => {
    const more = index < frames.length - 1 ? FLAG_MORE : 0;
    parts.push(frameHead(more, body.length), body);
  });
  return Buffer.concat(parts);
}

function frameHead(flags: number, length: number): Buffer {
  if (length <= 255) return Buffer.from([flags, length]);
  const head = Buffer.alloc(9);
  head[0] = flags | FLAG_LONG;
  head.writeBigUInt64BE(BigInt(length), 1);
  return head;
}

function firstFrame(
  bytes: Buffer,
): { readonly flags: number; readonly body: Buffer; readonly end: number } | undefined {
  const flags = bytes[0];
  if (flags === undefined) return undefined;
  const long = (flags & FLAG_LONG) !== 0;
  const start = long ? 9 : 2;
  if (bytes.length < start) return undefined;
  const length = long ? Number(bytes.readBigUInt64BE(1)) : bytes.readUInt8(1);
  if (bytes.length < start + length) return undefined;
  return { flags, body: bytes.subarray(start, start + length), end: start + length };
}

function greeting(): Buffer {
  const bytes = Buffer.alloc(HANDSHAKE_BYTES);
  bytes[0] = 0xff;
  bytes[9] = 0x7f;
  bytes[10] = 3;
  bytes.write('NULL', 12, 'latin1');
  return bytes;
}

function ready(options: ZmtpPeerOptions): Buffer {
  const body = Buffer.concat([
    Buffer.from('\x05READY', 'latin1'),
    property('Socket-Type', options.socketType ?? 'REQ'),
    property('Identity', options.identity ?? ''),
  ]);
  return Buffer.concat([frameHead(FLAG_COMMAND, body.length), body]);
}

function property(name: string, value: string): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(Buffer.byteLength(value));
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), size, Buffer.from(value)]);
}

function isCommand(body: Buffer, name: string): boolean {
  return body[0] === name.length && body.subarray(1, name.length + 1).toString('latin1') === name;
}

function pong(ping: Buffer): Buffer {
  // PING carries a 16 bit time to live, then a context that PONG repeats.
  const body = Buffer.concat([Buffer.from('\x04PONG', 'latin1'), ping.subarray(7)]);
  return Buffer.concat([frameHead(FLAG_COMMAND, body.length), body]);
}
