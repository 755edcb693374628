import { randomBytes } from 'node:crypto';
import { isMap, mapOf, pack, type SaltValue, textOf, unpack, WireError } from '@brine/wire';
import { Options } from '../child/options.ts';
import type { EngineContext, EngineStart } from '../engine.ts';
import { saltMap } from '../plain.ts';
import { deliverEach, NotTakenError } from './deliver.ts';
import { TcpOutput } from './tcp-output.ts';

const PORT = 24_224;
const SENDER = 'saltstack';
/** A server acknowledges at once, or never does. */
const ACK_MS = 10_000;
const ANSWER_MAX_BYTES = 64 * 1024;

/**
 * Events to fluentd by its forward protocol, under the tag `saltstack.<app>`
 * (salt/engines/fluent.py). Each asks for an acknowledgement; a server that gives none for the
 * first event is sent the others without.
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

/** @throws NotTakenError for an event as deep as the wire takes: the message is one level more */
function packed(message: SaltValue[]): Buffer {
  try {
    return pack(message, 'bin');
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new NotTakenError(error.message, { cause: error });
  }
}

/** What the server has acknowledged: one message at a time is on its way. */
class Acks {
  readonly #engine: EngineContext;
  #waiting: { readonly chunk: string; resolve(): void; reject(error: Error): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isKnown: boolean | undefined;
  #received = Buffer.alloc(0);

  constructor(engine: EngineContext) {
    this.#engine = engine;
  }

  /** Resolves when the server has it; at once for a server that never says so. */
  of(chunk: string): Promise<void> {
    if (this.#isKnown === false) return Promise.resolve();
    const acked = new Promise<void>((resolve, reject) => {
      this.#waiting = { chunk, resolve, reject };
      this.#timer = setTimeout(() => this.#late(), ACK_MS);
    });
    // A write that fails comes first.
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
      // The rest of the answer is still to come.
      if (!(error instanceof WireError)) throw error;
    }
  }

  /** The connection is gone: what was sent may be lost. */
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
