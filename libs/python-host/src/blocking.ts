import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { mapOf, pack, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import { PythonCallError, type PythonFailure } from './errors.ts';
import type { PythonCalls } from './host.ts';
import type { PythonUse } from './settings.ts';

/**
 * One end of a way to the host, for a thread that can only block. It can be sent to that thread.
 */
export interface BlockingEnd {
  readonly port: MessagePort;
  /** The number of answers sent. */
  readonly answers: SharedArrayBuffer;
}

interface Request {
  readonly use: PythonUse;
  readonly op: string;
  /** msgpack, since a message between threads would lose some types. */
  readonly given: Uint8Array;
}

type Answer =
  | { readonly value: Uint8Array }
  | { readonly code: PythonFailure; readonly text: string; readonly python: string | undefined };

/** Makes calls that block this thread until the answer. */
export class BlockingCalls {
  readonly #port: MessagePort;
  readonly #answers: Int32Array;
  readonly #timeoutMs: number;
  #isLost = false;

  /** @param timeoutMs longest wait for an answer; the host has shorter limits */
  constructor({ port, answers }: BlockingEnd, timeoutMs: number) {
    this.#port = port;
    this.#answers = new Int32Array(answers);
    this.#timeoutMs = timeoutMs;
  }

  /** As `PythonCalls.call`, but returns the result itself. @throws PythonCallError */
  call(use: PythonUse, op: string, given: SaltMap): SaltValue {
    if (this.#isLost) throw new PythonCallError('late', 'Python did not answer in time');
    const before = Atomics.load(this.#answers, 0);
    const request: Request = { use, op, given: pack(given) };
    this.#port.postMessage(request);
    if (Atomics.wait(this.#answers, 0, before, this.#timeoutMs) === 'timed-out') {
      // A late answer would be taken for that of the next call.
      this.#isLost = true;
      throw new PythonCallError('late', 'Python did not answer in time');
    }
    const got = receiveMessageOnPort(this.#port) as { readonly message: Answer } | undefined;
    if (got === undefined) throw new PythonCallError('ended', 'the way to Python was closed');
    const { message } = got;
    if ('code' in message) throw new PythonCallError(message.code, message.text, message.python);
    return unpackMap(Buffer.from(message.value)).get('value') ?? null;
  }
}

/** Opens a way for a thread; this thread must keep running. */
export function serveBlocking(host: PythonCalls): { readonly end: BlockingEnd; close(): void } {
  const { port1, port2 } = new MessageChannel();
  const answers = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  answerAt({ port: port1, answers }, host);
  return { end: { port: port2, answers }, close: () => port1.close() };
}

/** Answers the requests at this end. */
export function answerAt({ port, answers }: BlockingEnd, host: PythonCalls): void {
  const count = new Int32Array(answers);
  const answer = async ({ use, op, given }: Request): Promise<void> => {
    const message = await answerOf(host.call(use, op, unpackMap(Buffer.from(given))));
    port.postMessage(message);
    Atomics.add(count, 0, 1);
    Atomics.notify(count, 0);
  };
  port.on('message', (request: Request) => void answer(request));
}

async function answerOf(call: Promise<SaltValue>): Promise<Answer> {
  try {
    return { value: pack(mapOf({ value: await call })) };
  } catch (error) {
    if (error instanceof PythonCallError) {
      return { code: error.code, text: error.message, python: error.python };
    }
    return { code: 'ended', text: (error as Error).message, python: undefined };
  }
}
