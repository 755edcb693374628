import { randomBytes } from 'node:crypto';
import { isMap, mapOf, pack, type SaltValue, textOf, unpack, WireError } from '@brine/wire';
import { Options } from '../child/options.ts';
import type { EngineContext, EngineStart } from '../engine.ts';
import { saltMap } from '../plain.ts';
import { deliverEach, NotTakenError } from './deliver.ts';
import { TcpOutput } from './tcp-output.ts';

const PORT = 24_224;
const SENDER = 'saltstack';
/** A server acknowledges at once, or never. */
const ACK_MS = 10_000;
const ANSWER_MAX_BYTES = 64 * 1024;

/**
 * Sends events to fluentd by its forward protocol, under the tag `saltstack.<app>`
 * (salt/engines/fluent.py). Each asks for an acknowledgement. If the first event gets none, the
 * others are sent without.
 */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const host = options.text('host', 'localhost');
  const port = options.port('port', PORT);
  const tag = `${SENDER}.${options.text('app', 'engine')}`;
  const acks = new Acks(engine);
  const output = new TcpOutput(host, port, {
    onData: (data) => acks.receive(data),
    onGone: () => acks.gone(),
  });
  try {
    await deliverEach(engine, { tags: options.texts('tags'), atOnce: 1 }, async (event) => {
      const chunk = randomBytes(12).toString('base64');
      const seconds = Math.floor(event.timeMs / 1000);
      const message = packed([tag, seconds, saltMap(event.data), mapOf({ chunk })]);
      const acked = acks.of(chunk);
      await output.write(message);
      await acked;
    });
  } finally {
    output.close();
  }
};

/** @throws NotTakenError for an event at the depth limit of the wire: the message adds a level */
function packed(message: SaltValue[]): Buffer {
  try {
    return pack(message, 'bin');
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new NotTakenError(error.message, { cause: error });
  }
}

/** Waits for acknowledgements: one message at a time is in flight. */
class Acks {
  readonly #engine: EngineContext;
  #waiting: { readonly chunk: string; resolve(): void; reject(error: Error): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isKnown: boolean | undefined;
  #received = Buffer.alloc(0);

  constructor(engine: EngineContext) {
    this.#engine = engine;
  }

  /** Resolves when the server has it; at once for a server that does not acknowledge. */
  of(chunk: string): Promise<void> {
    if (this.#isKnown === false) return Promise.resolve();
    const acked = new Promise<void>((resolve, reject) => {
      this.#waiting = { chunk, resolve, reject };
      this.#timer = setTimeout(() => this.#late(), ACK_MS);
    });
    // A failing write is handled first.
    acked.catch(() => undefined);
    return acked;
  }

  receive(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data]).subarray(-ANSWER_MAX_BYTES);
    try {
      const answer = unpack(this.#received);
      this.#received = Buffer.alloc(0);
      if (!isMap(answer) || textOf(answer, 'ack') !== this.#waiting?.chunk) return;
      this.#isKnown = true;
      this.#take()?.resolve();
    } catch (error) {
      // The rest of the answer has not arrived yet.
      if (!(error instanceof WireError)) throw error;
    }
  }

  /** The connection is closed: messages in flight may be lost. */
  gone(): void {
    this.#received = Buffer.alloc(0);
    this.#take()?.reject(new Error('the connection was closed'));
  }

  #late(): void {
    const waiting = this.#take();
    if (this.#isKnown === true) return waiting?.reject(new Error('no acknowledgement in time'));
    this.#isKnown = false;
    this.#engine.log('warn', 'the server acknowledges nothing: events that it loses are lost');
    waiting?.resolve();
  }

  #take() {
    clearTimeout(this.#timer);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}
