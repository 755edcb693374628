/*
 * ZMTP 3.0 on the wire (rfc.zeromq.org/spec/23), NULL mechanism:
 *
 *   greeting   FF 00*8 7F | 03 00 | "NULL" 00*16 | as-server 00 | 00*31
 *   frame      flags, length in 1 or 8 bytes, body
 *   READY      05 "READY" { name length, name, value length in 4 bytes, value }
 */
const GREETING_BYTES = 64;
const FLAG_MORE = 1;
const FLAG_LONG = 2;
const FLAG_COMMAND = 4;
const SHORT_MAX = 255;
/** Salt's messages have two frames, or three. Any number of empty frames would cost memory too. */
const MAX_FRAMES = 64;
const NULL_MECHANISM = 'NULL'.padEnd(20, '\0');

/** The shared body of empty frames: each request has such a delimiter. */
const EMPTY = Buffer.alloc(0);
const NONE: readonly Buffer[] = [];

/** A frame longer than allowed, or bytes that are not ZMTP. */
export class ZmtpError extends Error {
  override readonly name = 'ZmtpError';
  readonly code = 'ZMTP_FRAME';
}

/** Callbacks for whole messages, and for commands with their name still in front. */
export interface ZmtpEvents {
  onMessage(frames: readonly Buffer[]): void;
  onCommand(body: Buffer): void;
}

/** The bytes of one ZMTP message of these frames. */
export function encodeMessage(frames: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = [];
  frames.forEach((body, index) => {
    const more = index < frames.length - 1 ? FLAG_MORE : 0;
    parts.push(frameHead(more, body.length), body);
  });
  return Buffer.concat(parts);
}

/**
 * The bytes of `[empty][body]`, as a REQ sends, where the body is these parts in a row: one copy,
 * because a load rig makes tens of thousands of them a second.
 */
export function encodeRequest(parts: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const headBytes = requestHeadBytes(length);
  const bytes = Buffer.allocUnsafe(headBytes + length);
  writeRequestHead(bytes, length);
  let at = headBytes;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The bytes before a body of this length in `[empty][body]`. */
export function requestHead(length: number): Buffer {
  const head = Buffer.allocUnsafe(requestHeadBytes(length));
  writeRequestHead(head, length);
  return head;
}

function requestHeadBytes(length: number): number {
  return length > SHORT_MAX ? 11 : 4;
}

function writeRequestHead(bytes: Buffer, length: number): void {
  bytes[0] = FLAG_MORE;
  bytes[1] = 0;
  if (length > SHORT_MAX) {
    bytes[2] = FLAG_LONG;
    bytes.writeUInt32BE(Math.floor(length / 2 ** 32), 3);
    bytes.writeUInt32BE(length % 2 ** 32, 7);
  } else {
    bytes[2] = 0;
    bytes[3] = length;
  }
}

/** The greeting and READY of a peer of this socket type. */
export function handshake(socketType: string, identity: string): Buffer {
  const greeting = Buffer.alloc(GREETING_BYTES);
  greeting[0] = 0xff;
  greeting[9] = 0x7f;
  greeting[10] = 3;
  greeting.write('NULL', 12, 'latin1');
  const body = Buffer.concat([
    Buffer.from('\x05READY', 'latin1'),
    property('Socket-Type', socketType),
    property('Identity', identity),
  ]);
  return Buffer.concat([greeting, frameHead(FLAG_COMMAND, body.length), body]);
}

/** A peer's announcement in READY. */
export interface ZmtpReady {
  readonly socketType: string;
  readonly identity: Buffer;
}

/**
 * Reads a READY; undefined if it is malformed. Metadata: name length, name, value length in 4
 * bytes, value; names are compared without case.
 */
export function readReady(body: Buffer): ZmtpReady | undefined {
  if (!isCommand(body, 'READY')) return undefined;
  let socketType = '';
  let identity = Buffer.alloc(0);
  let at = 6;
  while (at < body.length) {
    const nameEnd = at + 1 + (body[at] as number);
    if (nameEnd + 4 > body.length) return undefined;
    const valueEnd = nameEnd + 4 + body.readUInt32BE(nameEnd);
    if (valueEnd > body.length) return undefined;
    const name = body.toString('latin1', at + 1, nameEnd).toLowerCase();
    const value = body.subarray(nameEnd + 4, valueEnd);
    if (name === 'socket-type') socketType = value.toString('latin1');
    else if (name === 'identity') identity = Buffer.from(value);
    at = valueEnd;
  }
  // Longer identities are not allowed (rfc.zeromq.org/spec/23).
  return identity.length > SHORT_MAX ? undefined : { socketType, identity };
}

/** A ping that its receiver answers with a PONG. Its time to live of 0 sets no limit. */
export const PING = Buffer.from([FLAG_COMMAND, 7, 4, 0x50, 0x49, 0x4e, 0x47, 0, 0]);

/** True for a command of this name. */
export function isCommand(body: Buffer, name: string): boolean {
  return body[0] === name.length && body.subarray(1, name.length + 1).toString('latin1') === name;
}

/** The answer to a PING, which carries a 16 bit time to live, then a context that PONG repeats. */
export function pong(ping: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from('\x04PONG', 'latin1'), ping.subarray(7)]);
  return Buffer.concat([frameHead(FLAG_COMMAND, body.length), body]);
}

/** Cuts a stream of bytes, greeting first, into messages and commands. */
export class ZmtpReader {
  readonly #events: ZmtpEvents;
  readonly #maxBytes: number;
  /** Returns the part of a chunk that may outlive it. */
  readonly #kept: (bytes: Buffer) => Buffer;
  #chunks: Buffer[] = [];
  #keptBytes = 0;
  /** Bytes needed before anything more can be read: a long frame is not joined at each chunk. */
  #needed = GREETING_BYTES;
  #greeted = false;
  #parts: readonly Buffer[] = NONE;
  #partBytes = 0;

  /**
   * @param maxBytes most bytes of one message.
   * @param options `chunksAreOurs`: no chunk is written to again, so chunks are kept without a
   *   copy, and frames may be kept too.
   */
  constructor(events: ZmtpEvents, maxBytes: number, options: { chunksAreOurs?: boolean } = {}) {
    this.#events = events;
    this.#maxBytes = maxBytes;
    this.#kept = options.chunksAreOurs === true ? (bytes) => bytes : (bytes) => Buffer.from(bytes);
  }

  /** Bytes of a message that has not come whole. */
  get keptBytes(): number {
    return this.#keptBytes + this.#partBytes;
  }

  /**
   * Reads a chunk from the socket. Frames are views of it, and nothing of it is kept after the
   * return unless chunks are ours.
   * @throws ZmtpError for a message that is too long or has too many frames, and for bytes that are
   *   not ZMTP 3 with the NULL mechanism.
   */
  take(chunk: Buffer): void {
    this.#keptBytes += chunk.length;
    if (this.#keptBytes < this.#needed) {
      this.#chunks.push(this.#kept(chunk));
      return;
    }
    let bytes = chunk;
    if (this.#chunks.length > 0) {
      this.#chunks.push(chunk);
      bytes = Buffer.concat(this.#chunks);
      this.#chunks = [];
    }
    const end = this.#read(bytes);
    this.#keptBytes = bytes.length - end;
    if (this.#keptBytes > 0) this.#chunks.push(Buffer.from(bytes.subarray(end)));
    if (this.#parts.length > 0) this.#parts = this.#parts.map(this.#kept);
  }

  /** Reads all whole frames; returns the index of the first incomplete one. */
  #read(bytes: Buffer): number {
    let at = 0;
    if (!this.#greeted) {
      checkGreeting(bytes);
      this.#greeted = true;
      at = GREETING_BYTES;
    }
    for (;;) {
      const left = bytes.length - at;
      if (left < 2) return this.#wait(2, at);
      const flags = bytes[at] as number;
      const long = (flags & FLAG_LONG) !== 0;
      if (long && left < 9) return this.#wait(9, at);
      const head = long ? 9 : 2;
      const length = long ? longLength(bytes, at + 1) : (bytes[at + 1] as number);
      if (length + this.#partBytes > this.#maxBytes) {
        throw new ZmtpError(`a message has more than ${this.#maxBytes} bytes`);
      }
      if (left < head + length) return this.#wait(head + length, at);
      at += head + length;
      this.#frame(flags, length === 0 ? EMPTY : bytes.subarray(at - length, at));
    }
  }

  #wait(needed: number, at: number): number {
    this.#needed = needed;
    return at;
  }

  #frame(flags: number, body: Buffer): void {
    if ((flags & FLAG_COMMAND) !== 0) return this.#events.onCommand(body);
    if (this.#parts.length >= MAX_FRAMES) throw new ZmtpError('a message has too many frames');
    // Made at its length: an array that grows reserves places for 16 more.
    const first = this.#parts.length === 1 ? this.#parts[0] : undefined;
    const message = first === undefined ? [...this.#parts, body] : [first, body];
    if ((flags & FLAG_MORE) !== 0) {
      this.#parts = message;
      this.#partBytes += body.length;
      return;
    }
    this.#parts = NONE;
    this.#partBytes = 0;
    this.#events.onMessage(message);
  }
}

/** Throws ZmtpError for a peer that does not speak ZMTP 3 with the NULL mechanism. */
function checkGreeting(bytes: Buffer): void {
  const signed = bytes[0] === 0xff && bytes[9] === 0x7f;
  const mechanism = bytes.toString('latin1', 12, 32);
  if (!signed || (bytes[10] as number) < 3 || mechanism !== NULL_MECHANISM) {
    throw new ZmtpError('no greeting of ZMTP 3 with the NULL mechanism');
  }
}

/** A 64-bit length without a bigint; from 2 ** 53 on it is not exact, and any limit refuses it. */
function longLength(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

function frameHead(flags: number, length: number): Buffer {
  if (length <= SHORT_MAX) return Buffer.from([flags, length]);
  const head = Buffer.alloc(9);
  head[0] = flags | FLAG_LONG;
  head.writeBigUInt64BE(BigInt(length), 1);
  return head;
}

function property(name: string, value: string): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(Buffer.byteLength(value));
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), size, Buffer.from(value)]);
}
