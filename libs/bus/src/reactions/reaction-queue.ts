import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { streamInfo } from '../connection/js-api.ts';
import { append } from '../streams/append.ts';
import { escapeHeader } from '../subjects/escape.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { type Reaction, REACTION_HEADERS, REACTION_MAX_BYTES } from './reaction.ts';

/** What became of a reaction: `known` is one that was added before, `full` finds no room. */
export type QueuedAs = 'added' | 'known' | 'full';

/** How long the count of what waits is believed, in ms. */
const COUNT_MS = 500;
const TIMEOUT_MS = 4_000;

/** Adds to the queue of reactions, on the disk of NATS. Any number of processes may add. */
export class ReactionQueue {
  readonly #bus: Bus;
  readonly #mostWaiting: number;
  #waiting = 0;
  #countedAt = -Infinity;
  #counting: Promise<void> | undefined;

  /** @param mostWaiting reactions in the queue of the cluster; 0: as many as find room on disk */
  constructor(bus: Bus, { mostWaiting = 0 }: { readonly mostWaiting?: number } = {}) {
    this.#bus = bus;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * Adds a reaction; resolves when it is stored.
   * @throws BusError `BUS_STREAM_AWAY`, `BUS_FORBIDDEN`, `BUS_CLOSED`, `BUS_BODY_TOO_LARGE`
   */
  async add(reaction: Reaction): Promise<QueuedAs> {
    const { kind, id, name, body, timeMs, link } = reaction;
    if (body.length > REACTION_MAX_BYTES) {
      const text = `a reaction of ${body.length} bytes; ${REACTION_MAX_BYTES} are the most`;
      throw new BusError('BUS_BODY_TOO_LARGE', text);
    }
    if (this.#mostWaiting > 0 && (await this.#isFull())) return 'full';
    try {
      const { duplicate } = await append(this.#bus, {
        subject: subjects.reaction(kind),
        payload: body,
        headers: {
          [REACTION_HEADERS.id]: escapeHeader(id),
          [REACTION_HEADERS.name]: escapeHeader(name),
          [REACTION_HEADERS.time]: String(timeMs),
          ...(link === undefined ? {} : { [REACTION_HEADERS.link]: escapeHeader(link) }),
        },
        msgId: escapeHeader(id),
        timeoutMs: TIMEOUT_MS,
      });
      if (duplicate) return 'known';
      this.#waiting += 1;
      return 'added';
    } catch (error) {
      if (error instanceof BusError && error.code === 'BUS_STREAM_FULL') return 'full';
      throw error;
    }
  }

  /** Several adders count on their own: together they may add a little more than the limit. */
  async #isFull(): Promise<boolean> {
    if (performance.now() - this.#countedAt > COUNT_MS) {
      this.#counting ??= this.#count().finally(() => (this.#counting = undefined));
      await this.#counting;
    }
    return this.#waiting >= this.#mostWaiting;
  }

  async #count(): Promise<void> {
    const info = await streamInfo(this.#bus, STREAMS.reactions);
    this.#waiting = info?.messages ?? 0;
    this.#countedAt = performance.now();
  }
}

/**
 * How many reactions wait or are at work, in the whole cluster.
 * @throws BusError as `Inbox.request` does
 */
export async function reactionsWaiting(bus: Bus): Promise<number> {
  return (await streamInfo(bus, STREAMS.reactions))?.messages ?? 0;
}
