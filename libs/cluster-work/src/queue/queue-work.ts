import type { Bus, ReactionKind } from '@brine/bus';
import {
  type QueuedReaction,
  REACTION_PLACES,
  type ReactionPlace,
  ReactionReader,
} from '@brine/bus/reactions';
import type { Trouble } from '@brine/tasks';
import { isMap, mapOf, type SaltMap, unpack, WireError } from '@brine/wire';

/** A queued item with its body read. */
export interface QueuedWork extends Omit<QueuedReaction, 'body' | 'done' | 'again' | 'letGo'> {
  readonly data: SaltMap;
}

/**
 * The outcome of work. `over`: it leaves the queue. `again`: this process stops, so another one
 * continues it. `elsewhere`: another process already has it. `later`: this process can not do it,
 * and the queue delivers it again after a delay.
 */
export type WorkEnd = 'over' | 'again' | 'elsewhere' | 'later';

export interface QueueWorkParts {
  readonly bus: Bus;
  readonly kind: ReactionKind;
  /** Limit of concurrent work in this process. */
  readonly atOnce: number;
  /** True while this process has more urgent work: then it takes one item at a time. */
  readonly isBusy?: () => boolean;
  /** Number of running items that only wait for something else; they use no place. */
  readonly waiting?: () => number;
  /**
   * Does the work. No other process gets the item meanwhile, but another one does if this process
   * dies. If it rejects, the queue delivers the item again after a delay.
   */
  readonly work: (work: QueuedWork) => Promise<WorkEnd>;
  readonly onTrouble: Trouble;
}

/** Delay after work has rejected, or is to come later. */
const AGAIN_MS = 5_000;
/** Limit of waiting items per place: their data are in memory. */
const WAITING_MAX = 9;
/** Interval at which a busy process checks whether it can take more. */
const LOOK_MS = 250;

/**
 * Takes work of one kind out of the queues of the cluster. Each kind has its own queues and places,
 * so a storm of events delays no job of the schedule.
 */
export class QueueWork {
  readonly #parts: QueueWorkParts;
  readonly #readers: readonly ReactionReader[];
  readonly #running = new Set<Promise<void>>();
  readonly #loops: readonly Promise<void>[];
  readonly #waking = new Set<() => void>();
  #isLeaving = false;

  constructor(parts: QueueWorkParts) {
    this.#parts = parts;
    const { bus, kind, atOnce } = parts;
    // Reading far ahead would delay items that an idle process could take.
    const readAhead = Math.ceil(atOnce / 2);
    const opened = REACTION_PLACES.filter((place) => place.kind === kind).map((place) => ({
      place,
      reader: new ReactionReader(bus, { place, readAhead }),
    }));
    this.#readers = opened.map(({ reader }) => reader);
    this.#loops = opened.map(({ place, reader }) =>
      this.#run(reader).catch((err: unknown) => {
        parts.onTrouble(notRead(place), err);
      }),
    );
  }

  /** Number of items in work. */
  get running(): number {
    return this.#running.size;
  }

  /** True while this process takes work. */
  get reading(): boolean {
    return this.#readers.every((reader) => reader.reading);
  }

  /** Takes nothing more; resolves when the current work has ended. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    this.#wakeAll();
    for (const reader of this.#readers) reader.finish();
    await Promise.all(this.#loops);
    await Promise.all(this.#running);
  }

  /** As {@link leave}, and returns the items that have not begun to other processes. */
  async close(): Promise<void> {
    await this.leave();
    for (const reader of this.#readers) reader.close();
  }

  async #run(reader: ReactionReader): Promise<void> {
    for (;;) {
      const reaction = await reader.next();
      if (reaction === undefined) return;
      while (!this.#isLeaving && this.#running.size >= this.#most) await this.#turn();
      if (this.#isLeaving) {
        reaction.again(0);
        continue;
      }
      const running = this.#one(reaction).finally(() => {
        this.#running.delete(running);
        this.#wakeAll();
      });
      this.#running.add(running);
    }
  }

  get #most(): number {
    const { atOnce, isBusy, waiting } = this.#parts;
    if (isBusy?.() === true) return 1;
    return atOnce + Math.min(waiting?.() ?? 0, atOnce * WAITING_MAX);
  }

  /**
   * Resolves when some work has ended, or after a delay. `Promise.race` would leave a handler on
   * every promise that runs for long.
   */
  #turn(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waking.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, LOOK_MS);
      this.#waking.add(wake);
    });
  }

  #wakeAll(): void {
    for (const wake of this.#waking) wake();
  }

  async #one(reaction: QueuedReaction): Promise<void> {
    const { body, done, again, letGo, ...about } = reaction;
    try {
      const end = await this.#parts.work({ ...about, data: dataIn(body) });
      if (end === 'over') done();
      else if (end === 'again') again(0);
      else if (end === 'later') again(AGAIN_MS);
      else letGo();
    } catch (err) {
      this.#parts.onTrouble(`reaction ${reaction.id} could not be worked on`, err);
      again(AGAIN_MS);
    }
  }
}

function notRead({ stream, kind }: ReactionPlace): string {
  return `work of kind ${kind} is not taken out of ${stream} any more`;
}

/** An event may have any body; a body that is no map has no data. */
function dataIn(body: Uint8Array): SaltMap {
  try {
    const data = unpack(body);
    return isMap(data) ? data : mapOf({});
  } catch (error) {
    if (error instanceof WireError) return mapOf({});
    throw error;
  }
}
