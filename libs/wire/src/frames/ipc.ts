import { WireError } from '../errors.ts';
import { fullLimits } from '../msgpack/limits.ts';
import { scanMap, Scanner } from '../msgpack/scan.ts';

/**
 * The framing of messages on event sockets: maps one after the other, or each behind its length (4
 * bytes, big endian). Salt 3006.26 uses `prefixed`, 3008 only for messages to the master.
 */
export type IpcFraming = 'bare' | 'prefixed';

/** `{"head": {}, "body": ` packed (Salt: salt/transport/frame.py frame_msg_ipc). */
const HEAD = Buffer.concat([
  Buffer.from([0x82, 0xa4]),
  Buffer.from('head'),
  Buffer.from([0x80, 0xa4]),
  Buffer.from('body'),
]);
const PREFIX_BYTES = 4;
/** Room that an idle reader keeps; more, needed for a large frame, is released. */
const KEPT_BYTES = 256 * 1024;

/** A frame around the bytes of an event; the body is always bin, which all readers accept. */
export function ipcFrame(body: Uint8Array, framing: IpcFraming): Buffer {
  const length = body.length;
  const lengthBytes = length <= 0xff ? 1 : length <= 0xffff ? 2 : 4;
  const mapBytes = HEAD.length + 1 + lengthBytes + length;
  const prefix = framing === 'prefixed' ? PREFIX_BYTES : 0;
  const frame = Buffer.allocUnsafe(prefix + mapBytes);
  if (prefix > 0) frame.writeUInt32BE(mapBytes, 0);
  HEAD.copy(frame, prefix);
  let at = prefix + HEAD.length;
  frame[at] = lengthBytes === 1 ? 0xc4 : lengthBytes === 2 ? 0xc5 : 0xc6;
  frame.writeUIntBE(length, at + 1, lengthBytes);
  at += 1 + lengthBytes;
  frame.set(body, at);
  return frame;
}

/**
 * Reads the bytes of an event socket and returns the bodies of whole frames. `auto` detects the
 * framing from the first byte: a map (0x80..0x8f, 0xde, 0xdf) is bare, a byte below 0x10 begins a
 * length. After an error the reader must not be used any more.
 */
export class IpcReader {
  readonly #maxBytes: number;
  #framing: IpcFraming | 'auto';
  #buffer: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  /** `maxBytes` bounds one frame, and with it what the reader keeps. */
  constructor(framing: IpcFraming | 'auto', maxBytes: number) {
    this.#framing = framing;
    this.#maxBytes = maxBytes;
  }

  /** The framing in use; `auto` until the first byte has come. */
  get framing(): IpcFraming | 'auto' {
    return this.#framing;
  }

  /** Bytes of a frame that has not come whole yet. */
  get pending(): number {
    return this.#end - this.#start;
  }

  /**
   * Takes a chunk and returns the bodies that are whole now (copies).
   * Throws WireError: other framing than expected, no frame, or a frame above the limit.
   */
  push(chunk: Uint8Array): Buffer[] {
    this.#keep(chunk);
    const bodies: Buffer[] = [];
    for (;;) {
      const frame = this.#next();
      if (frame === undefined) break;
      const body = scanMap(frame, { maxBytes: this.#maxBytes }).bytes('body');
      if (body === undefined) throw new WireError('SALT_WIRE_FRAMING', 'frame has no body');
      bodies.push(Buffer.from(body));
    }
    if (this.pending > this.#maxBytes + PREFIX_BYTES) {
      throw new WireError('SALT_WIRE_SIZE', `frame is longer than ${this.#maxBytes} bytes`);
    }
    return bodies;
  }

  #keep(chunk: Uint8Array): void {
    const pending = this.pending;
    if (this.#end + chunk.length > this.#buffer.length) {
      const wanted = pending + chunk.length;
      const wider = wanted > this.#buffer.length / 2 ? wanted * 2 : this.#buffer.length;
      const room = Buffer.allocUnsafe(wider);
      this.#buffer.copy(room, 0, this.#start, this.#end);
      this.#buffer = room;
      this.#start = 0;
      this.#end = pending;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** The map of the next whole frame, taken off the buffer; undefined when more must come. */
  #next(): Buffer | undefined {
    if (this.pending === 0) {
      this.#start = 0;
      this.#end = 0;
      if (this.#buffer.length > KEPT_BYTES) this.#buffer = Buffer.alloc(0);
      return undefined;
    }
    if (this.#framing === 'auto') this.#framing = framingOf(this.#buffer[this.#start] as number);
    const head = this.#framing === 'prefixed' ? PREFIX_BYTES : 0;
    const length = head > 0 ? this.#prefixedLength() : this.#bareLength();
    if (length === undefined) return undefined;
    const start = this.#start + head;
    this.#start = start + length;
    return this.#buffer.subarray(start, start + length);
  }

  #prefixedLength(): number | undefined {
    if (this.pending < PREFIX_BYTES) return undefined;
    const length = this.#buffer.readUInt32BE(this.#start);
    if (length > this.#maxBytes) {
      throw new WireError('SALT_WIRE_SIZE', `frame of ${length} bytes is too long`);
    }
    return this.pending < PREFIX_BYTES + length ? undefined : length;
  }

  #bareLength(): number | undefined {
    const view = this.#buffer.subarray(this.#start, this.#end);
    const scanner = new Scanner(view, 0, fullLimits(undefined));
    try {
      const count = scanner.mapHeader();
      for (let index = 0; index < count * 2; index += 1) scanner.skip(1);
      return scanner.at;
    } catch (error) {
      if (error instanceof WireError && error.code === 'SALT_WIRE_TRUNCATED') return undefined;
      throw error;
    }
  }
}

function framingOf(firstByte: number): IpcFraming {
  if ((firstByte >= 0x80 && firstByte <= 0x8f) || firstByte === 0xde || firstByte === 0xdf) {
    return 'bare';
  }
  if (firstByte < 0x10) return 'prefixed';
  throw new WireError('SALT_WIRE_FRAMING', `0x${firstByte.toString(16)} begins no frame`);
}
