import type { Bus, ReactionKind } from '@brine/bus';
import {
  type QueuedReaction,
  REACTION_PLACES,
  type ReactionPlace,
  ReactionReader,
} from '@brine/bus/reactions';
import type { Trouble } from '@brine/tasks';
import { isMap, mapOf, type SaltMap, unpack, WireError } from '@brine/wire';

/** Work out of the queue, its body read. */
export interface QueuedWork extends Omit<QueuedReaction, 'body' | 'done' | 'again' | 'letGo'> {
  readonly data: SaltMap;
}

/**
 * What became of work. `over`: it leaves the queue. `again`: another process is to go on with it,
 * as this one stops. `elsewhere`: another process has it already. `later`: this process can not do
 * it, and it comes again after a while.
 */
export type WorkEnd = 'over' | 'again' | 'elsewhere' | 'later';

/** What takes the work of one kind out of its queues. */
export interface QueueWorkParts {
  readonly bus: Bus;
  readonly kind: ReactionKind;
  /** How many at once in this process. */
  readonly atOnce: number;
  /** Others have more urgent work: one at a time then. */
  readonly isBusy?: () => boolean;
  /** How much of what is at work only waits for something else: it takes no place of others. */
  readonly waiting?: () => number;
  /**
   * Does the work. Meanwhile no other process gets it; when this process dies, another one does.
   * Where it rejects, it comes again after a while.
   */
  readonly work: (work: QueuedWork) => Promise<WorkEnd>;
  readonly onTrouble: Trouble;
}

/** After work has rejected, or is to come later. */
const AGAIN_MS = 5_000;
/** For each place so many may wait besides: their data are in memory. */
const WAITING_MAX = 9;
/** A process with too much at hand looks again after so long: it may be less busy by then. */
const LOOK_MS = 250;

/**
 * Takes work of one kind out of the queues of the cluster, some at a time. Kinds have queues and
 * places at work of their own: a storm of events delays no job of the schedule.
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
    // What waits here waits longer than it has to where another process is idle.
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

  /** Work that this process is at. */
  get running(): number {
    return this.#running.size;
  }

  /** Whether work is being taken just now. */
  get reading(): boolean {
    return this.#readers.every((reader) => reader.reading);
  }

  /** Takes nothing more; resolves when what is under way has ended. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    this.#wakeAll();
    for (const reader of this.#readers) reader.finish();
    await Promise.all(this.#loops);
    await Promise.all(this.#running);
  }

  /** As {@link leave}; what it has not come to goes to other processes. */
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
   * Resolves when some work has ended, or after a moment. A race would leave a trace at all that
   * runs for long.
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

/** An event may hold anything; one that is no map has no data. */
function dataIn(body: Uint8Array): SaltMap {
  try {
    const data = unpack(body);
    return isMap(data) ? data : mapOf({});
  } catch (error) {
    if (error instanceof WireError) return mapOf({});
    throw error;
  }
}
