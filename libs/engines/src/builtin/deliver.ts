import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs, type BackoffRange, eachAtOnce, errorText, sleepUnless } from '@brine/tasks';
import type { EngineContext, EngineEvent } from '../engine.ts';

/** An event that was refused for good: it is left out. */
export class NotTakenError extends Error {
  override readonly name = 'NotTakenError';
}

export interface DeliveryOptions {
  readonly tags?: readonly string[] | undefined;
  /**
   * Limits events with a field `fun` to these; those without one are sent (Salt: http_logstash).
   */
  readonly funs?: readonly string[] | undefined;
  /** Delays between tries in tests, ms. */
  readonly retries?: BackoffRange;
}

const RETRIES = { firstMs: 500, longestMs: 30_000 };
/** Time in which events are gathered for one batch, ms. */
const LINGER_MS = 20;

/**
 * Sends each event until it is taken, at least once. Unsent events wait in the stream of the
 * cluster, not here. Ends when the engine is to stop.
 * @param atOnce limit of concurrent sends; 1 keeps the order
 * @param send rejects if the event was not taken; NotTakenError leaves it out
 */
export async function deliverEach(
  engine: EngineContext,
  options: DeliveryOptions & { readonly atOnce: number },
  send: (event: EngineEvent) => Promise<void>,
): Promise<void> {
  const { atOnce, tags, funs } = options;
  const delivery = new Delivery(engine, options, async ([event]) => {
    if (event !== undefined) await send(event);
  });
  const events = engine.events(tags === undefined ? {} : { tags });
  await eachAtOnce(events, atOnce, async (event) => {
    if (isWanted(event, funs)) await delivery.deliver([event]);
    else event.done();
  });
}

/**
 * As {@link deliverEach} for batches of events, in their order, one batch after the other.
 * @param send rejects if not all were taken; after NotTakenError they are sent one by one, and only
 * the refused ones are left out
 */
export async function deliverBatches(
  engine: EngineContext,
  options: DeliveryOptions & { readonly most: number },
  send: (events: readonly EngineEvent[]) => Promise<void>,
): Promise<void> {
  const { most, tags, funs } = options;
  const delivery = new Delivery(engine, options, send);
  const events = engine.events(tags === undefined ? {} : { tags });
  for await (const batch of gathered(events, most)) {
    const wanted = batch.filter((event) => isWanted(event, funs));
    for (const event of batch) if (!wanted.includes(event)) event.done();
    if (wanted.length > 0) await delivery.deliver(wanted);
  }
}

/** Gathers the available events, at least one and at most `most`. */
async function* gathered(
  events: AsyncIterable<EngineEvent>,
  most: number,
): AsyncGenerator<readonly EngineEvent[], void> {
  const iterator = events[Symbol.asyncIterator]();
  let next = iterator.next();
  for (;;) {
    const first = await next;
    if (first.done === true) return;
    const batch = [first.value];
    const late = sleep(LINGER_MS).then(() => undefined);
    next = iterator.next();
    while (batch.length < most) {
      const more = await Promise.race([next, late]);
      if (more === undefined || more.done === true) break;
      batch.push(more.value);
      next = iterator.next();
    }
    yield batch;
  }
}

/** True if `funs` lets an event pass. */
export function isWanted({ data }: EngineEvent, funs: readonly string[] | undefined): boolean {
  const { fun } = data;
  return funs === undefined || fun === undefined || (typeof fun === 'string' && funs.includes(fun));
}

/** Sends events, and counts successes and failures. */
class Delivery {
  readonly #engine: EngineContext;
  readonly #options: DeliveryOptions;
  readonly #send: (events: readonly EngineEvent[]) => Promise<void>;
  readonly #counts = { taken: 0, refused: 0, retries: 0 };
  #isDown = false;

  constructor(
    engine: EngineContext,
    options: DeliveryOptions,
    send: (events: readonly EngineEvent[]) => Promise<void>,
  ) {
    this.#engine = engine;
    this.#options = options;
    this.#send = send;
  }

  /** Sends events until they are taken or refused, or the engine is to stop. */
  async deliver(events: readonly EngineEvent[]): Promise<void> {
    const { retries = RETRIES } = this.#options;
    const { stopping } = this.#engine;
    for (let tries = 1; !stopping.aborted; tries += 1) {
      try {
        await this.#send(events);
        return this.#taken(events);
      } catch (error) {
        if (error instanceof NotTakenError) return this.#notTaken(events, error);
        this.#down(error);
      }
      await sleepUnless(backoffMs(retries, tries), stopping);
    }
  }

  /** The refusal of a batch does not name the events at fault. */
  async #notTaken(events: readonly EngineEvent[], error: NotTakenError): Promise<void> {
    const [event, ...others] = events;
    if (event !== undefined && others.length === 0) return this.#refused(event, error);
    for (const one of events) await this.deliver([one]);
  }

  #taken(events: readonly EngineEvent[]): void {
    for (const event of events) event.done();
    this.#counts.taken += events.length;
    if (this.#isDown) {
      this.#isDown = false;
      this.#engine.log('info', 'events are taken again');
    }
    this.#engine.tell({ ...this.#counts, down: 0 });
  }

  #refused(event: EngineEvent, error: Error): void {
    event.done();
    this.#counts.refused += 1;
    this.#engine.log('warn', `${event.tag}: not taken and left out: ${error.message}`);
    this.#engine.tell({ ...this.#counts });
  }

  #down(error: unknown): void {
    this.#counts.retries += 1;
    if (!this.#isDown) {
      const text = errorText(error);
      this.#engine.log('warn', `events are not taken: ${text}; they wait in the cluster`);
    }
    this.#isDown = true;
    this.#engine.tell({ ...this.#counts, down: 1 });
  }
}
