import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, BusError } from '@brine/bus';
import { endOf, lowestOf, messagesBehind, Reached, Timeline } from '@brine/bus/timeline';
import { errorText } from '@brine/tasks';
import type { Followers } from '../live/followers.ts';
import { type Form, Frame } from '../live/frames.ts';
import { type LiveEvents, ReadEvent } from '../live/live-events.ts';
import { learnInTime, type Principals, type Sight } from '../live/sight.ts';

/**
 * `far`: more happened since than one process reads again. `gone`: it is not kept. `away`: the
 * streams do not answer.
 */
export type Coverage = 'covered' | 'far' | 'gone' | 'away';

/** What is read again at once for all followers that resume: events, bytes, messages, ms. */
const EVENTS_MAX = 30_000;
const BYTES_MAX = 16 * 1024 * 1024;
const MESSAGES_MAX = 60_000;
const READ_MS = 10_000;
const TAKEN_AT_ONCE = 256;
/** Followers that come back together are served together. */
const GATHER_MS = 50;
/** The end of the streams is known for this long, ms. */
const END_MS = 200;
/** Those that are this many messages apart are not. */
const APART_MAX = 10_000;
/** Characters of frames that are kept for others that resume at the same place. */
const FRAMES_MAX = 8 * 1024 * 1024;

interface Waiting {
  readonly position: string;
  readonly resolve: (coverage: Coverage) => void;
}

/** What followers that resume need. */
export interface ReplayParts {
  readonly bus: Bus;
  readonly live: Pick<LiveEvents, 'isEven'>;
  readonly followers: Followers;
  readonly principals: Principals;
  readonly onTrouble: (text: string, error: unknown) => void;
}

/** Reads what followers missed: once for all, and in frames that are made once. */
export class Replays {
  readonly #bus: Bus;
  readonly #live: Pick<LiveEvents, 'isEven'>;
  readonly #followers: Followers;
  readonly #principals: Principals;
  readonly #onTrouble: (text: string, error: unknown) => void;
  readonly #frames = new Map<string, { readonly frame: Promise<Frame>; size: number }>();
  #framesSize = 0;
  #waiting: Waiting[] = [];
  #isReading = false;
  #ending: Promise<string> | undefined;
  #reads = 0;

  constructor({ bus, live, followers, principals, onTrouble }: ReplayParts) {
    this.#bus = bus;
    this.#live = live;
    this.#followers = followers;
    this.#principals = principals;
    this.#onTrouble = onTrouble;
  }

  /** How often the streams were read again. */
  get reads(): number {
    return this.#reads;
  }

  /** Reads again what came after a position, if it is not here. */
  async cover(position: string): Promise<Coverage> {
    const { recent } = this.#followers;
    if (!new Reached(recent.base).isOfSame(position)) return 'gone';
    if (messagesBehind(position, recent.base) > MESSAGES_MAX) return 'far';
    const covered = new Promise<Coverage>((resolve) => this.#waiting.push({ position, resolve }));
    if (!this.#isReading) void this.#read();
    return covered;
  }

  /**
   * True once this process has read all that the streams had up to a position, which another
   * process gave; `beyond` if the streams end before it.
   */
  async hasReached(position: string): Promise<boolean | 'beyond'> {
    if (this.#followers.recent.isPast(position)) return true;
    if (!new Reached(await this.#end()).hasAll(position)) return 'beyond';
    // Messages that no follower gets have places too.
    return this.#live.isEven || this.#followers.recent.isPast(position);
  }

  /** The end of the streams, asked for once for all that wait. */
  #end(): Promise<string> {
    if (this.#ending !== undefined) return this.#ending;
    this.#ending = endOf(this.#bus);
    setTimeout(() => (this.#ending = undefined), END_MS).unref();
    return this.#ending;
  }

  /** What followers of a form see of the events from a number up to, but not including, another. */
  frame(form: Form, sight: Sight, from: number, to: number): Promise<Frame> {
    const name = `${form.name}\n${sight.key}\n${from}\n${to}`;
    const known = this.#frames.get(name);
    if (known !== undefined) return known.frame;
    const made = { frame: this.#make(form, sight, from, to), size: 0 };
    this.#frames.set(name, made);
    void made.frame.then(({ text }) => {
      made.size = text.length;
      this.#framesSize += text.length;
      for (const [oldest, { size }] of this.#frames) {
        if (this.#framesSize <= FRAMES_MAX) return;
        this.#framesSize -= size;
        this.#frames.delete(oldest);
      }
    });
    return made.frame;
  }

  async #make(form: Form, sight: Sight, from: number, to: number): Promise<Frame> {
    const { recent } = this.#followers;
    const position = recent.before(to);
    const events = recent.slice(from, to);
    if (sight.isUnsure !== undefined) await learnInTime(sight, events);
    const maker = form.make(sight, () => undefined);
    for (const event of events) {
      const isOfForm = form.jids === undefined || form.jids.has(event.jid ?? '');
      if (isOfForm && sight.sees(event)) maker.take(event);
      event.forget?.();
    }
    const { text, events: count } = maker.flush(position);
    maker.close?.();
    return new Frame(text, count);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) {
      await sleep(GATHER_MS);
      const together = this.#nearest();
      const [first = '', ...others] = together.map(({ position }) => position);
      const coverage = await this.#extend(lowestOf(first, ...others));
      for (const { resolve } of together) resolve(coverage);
    }
    this.#isReading = false;
  }

  /** Those that miss least, so that one with an old position does not make others wait. */
  #nearest(): readonly Waiting[] {
    const { base } = this.#followers.recent;
    const behind = (one: Waiting): number => messagesBehind(one.position, base);
    const least = this.#waiting.reduce((min, one) => Math.min(min, behind(one)), Infinity);
    const isNear = (one: Waiting): boolean => behind(one) <= least + APART_MAX;
    const together = this.#waiting.filter(isNear);
    this.#waiting = this.#waiting.filter((one) => !isNear(one));
    return together;
  }

  async #extend(from: string): Promise<Coverage> {
    const { recent } = this.#followers;
    if (recent.resume(from) !== undefined) return 'covered';
    this.#reads += 1;
    const { base } = recent;
    try {
      const older = await this.#between(from, base);
      if (typeof older === 'string') return older;
      // So much came meanwhile that what follows was dropped.
      if (recent.base !== base) return 'far';
      recent.extend(older, from);
      return 'covered';
    } catch (error) {
      this.#onTrouble(`events are not read again: ${errorText(error)}`, error);
      return 'away';
    }
  }

  async #between(from: string, to: string): Promise<readonly ReadEvent[] | 'far' | 'gone'> {
    const timeline = await Timeline.open(this.#bus, { from: { position: from } });
    try {
      if (timeline.takeNotices().length > 0) return 'gone';
      const until = performance.now() + READ_MS;
      const upTo = new Reached(to);
      const found: ReadEvent[] = [];
      let bytes = 0;
      for (;;) {
        const taken = await timeline.take(TAKEN_AT_ONCE, until - performance.now(), true);
        for (const event of taken) {
          if (!upTo.has(event)) continue;
          const read = await readEvent(event, to);
          if (read === undefined) continue;
          this.#principals.note(read);
          read.forget();
          found.push(read);
          bytes += read.packed.length;
        }
        if (timeline.isEven || new Reached(timeline.position).hasAll(to)) return found;
        const isTooMuch = found.length > EVENTS_MAX || bytes > BYTES_MAX;
        if (isTooMuch || performance.now() >= until) return 'far';
      }
    } finally {
      timeline.close();
    }
  }
}

const GONE: ReadonlySet<string> = new Set([
  'BUS_BAD_MESSAGE',
  'BUS_BODY_GONE',
  'BUS_BODY_TOO_LARGE',
]);

/** The event as one that was read in order; undefined if its body is gone, as for all followers. */
async function readEvent(
  event: ConstructorParameters<typeof ReadEvent>[0],
  to: string,
): Promise<ReadEvent | undefined> {
  try {
    // The other stream may have been read further than what is here.
    const position = lowestOf(event.position, to);
    return new ReadEvent({ ...event, position }, await event.body());
  } catch (error) {
    if (error instanceof BusError && GONE.has(error.code)) return undefined;
    throw error;
  }
}
