import { isMap, pack, type SaltMap, unpack } from '@brine/wire';
import { PythonCallError } from './errors.ts';
import { LIMITS } from './settings.ts';

const HEAD_BYTES = 4;

/** A message for a process: its length, then msgpack. @throws PythonCallError `size` */
export function frameOf(message: SaltMap): Buffer {
  const body = pack(message);
  if (body.length > LIMITS.messageBytes) {
    throw new PythonCallError('size', `the request is larger than ${LIMITS.messageBytes} bytes`);
  }
  const frame = Buffer.allocUnsafe(HEAD_BYTES + body.length);
  frame.writeUInt32BE(body.length, 0);
  frame.set(body, HEAD_BYTES);
  return frame;
}

/** Cuts the output of a process into messages. */
export class FrameReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #have = 0;
  /** Bytes until the next message is complete, or its length known. */
  #need = HEAD_BYTES;

  constructor(maxBytes: number = LIMITS.messageBytes) {
    this.#maxBytes = maxBytes;
  }

  /** The messages that this part completes. @throws PythonCallError `size` */
  read(part: Buffer): SaltMap[] {
    this.#parts.push(part);
    this.#have += part.length;
    if (this.#have < this.#need) return [];
    let rest = Buffer.concat(this.#parts);
    const found: SaltMap[] = [];
    for (;;) {
      this.#need = HEAD_BYTES;
      if (rest.length >= HEAD_BYTES) this.#need += this.#lengthIn(rest);
      if (rest.length < this.#need || this.#need === HEAD_BYTES) break;
      found.push(messageOf(rest.subarray(HEAD_BYTES, this.#need)));
      rest = rest.subarray(this.#need);
    }
    this.#parts = [rest];
    this.#have = rest.length;
    return found;
  }

  #lengthIn(frame: Buffer): number {
    const length = frame.readUInt32BE(0);
    if (length === 0) throw new PythonCallError('size', 'the answer is empty');
    if (length <= this.#maxBytes) return length;
    throw new PythonCallError('size', `the answer is larger than ${this.#maxBytes} bytes`);
  }
}

function messageOf(body: Buffer): SaltMap {
  let message;
  try {
    message = unpack(body);
  } catch (error) {
    throw new PythonCallError('size', `the answer cannot be read: ${(error as Error).message}`);
  }
  if (!isMap(message)) throw new PythonCallError('size', 'the answer is no message');
  return message;
}
