import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { streamInfo, subjectCounts } from '../connection/js-api.ts';
import { LIMITS } from '../rpc/limits.ts';
import { append } from '../streams/append.ts';
import { escapeHeader } from '../subjects/escape.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { type NewReaction, REACTION_HEADERS, REACTION_MAX_BYTES } from './reaction.ts';

/**
 * The result of adding a reaction: `known` was added before, `full` finds no room. With `over
 * share` its source has reached its part of the queue.
 */
export type QueuedAs = 'added' | 'known' | 'full' | 'over share';

/** Waiting reactions of the queue, or of one source. */
interface Waiting {
  messages: number;
  bytes: number;
  /** By the monotonic clock. */
  readonly countedAt: number;
}

/** How long a count of waiting reactions is used, in ms. */
const COUNT_MS = 500;
const TIMEOUT_MS = 4_000;
const KIB = 1_024;
/** Bytes of a message beside its body: headers and what the stream adds. */
const HEAD_BYTES = 512;
/** Counts of sources that are kept; they are good for {@link COUNT_MS} only. */
const SOURCES_MAX = 1_000;

const UNCOUNTED: Waiting & { readonly room: number } = {
  messages: 0,
  bytes: 0,
  countedAt: -Infinity,
  room: Infinity,
};

/** Adds to the queues of work, on the disk of NATS. Any number of processes may add. */
export class ReactionQueue {
  readonly #bus: Bus;
  readonly #mostWaiting: number;
  readonly #bySource = new Map<string, Waiting>();
  #waiting: Waiting & { readonly room: number } = UNCOUNTED;
  #counting: Promise<void> | undefined;
  /** NATS has an older release's rights: what they forbid goes into that release's queue. */
  #isForbidden = false;

  /** @param mostWaiting reactions in the queue of the cluster; 0: as many as find room on disk */
  constructor(bus: Bus, { mostWaiting = 0 }: { readonly mostWaiting?: number } = {}) {
    this.#bus = bus;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * Adds a reaction; resolves when it is stored.
   * @throws BusError `BUS_STREAM_AWAY`, `BUS_FORBIDDEN`, `BUS_CLOSED`, `BUS_BODY_TOO_LARGE`
   */
  async add(reaction: NewReaction): Promise<QueuedAs> {
    const { kind, body, source } = reaction;
    if (body.length > REACTION_MAX_BYTES) {
      const text = `a reaction has ${body.length} bytes, more than ${REACTION_MAX_BYTES}`;
      throw new BusError('BUS_BODY_TOO_LARGE', text);
    }
    const kib = Math.ceil((body.length + HEAD_BYTES) / KIB);
    if (kind === 'event') {
      await this.#counted();
      if (this.#mostWaiting > 0 && this.#waiting.messages >= this.#mostWaiting) return 'full';
      if (source !== undefined && (await this.#isOverShare(source, kib * KIB))) return 'over share';
    }
    const own = kind === 'due' ? subjects.due : source && subjects.reactionOf(source, kib);
    try {
      if (!(await this.#store(reaction, own))) return 'known';
    } catch (error) {
      if (error instanceof BusError && error.code === 'BUS_STREAM_FULL') return 'full';
      throw error;
    }
    if (kind === 'event') this.#note(source, kib * KIB);
    return 'added';
  }

  /** False if it is there already. */
  async #store(reaction: NewReaction, own: string | undefined): Promise<boolean> {
    const before = subjects.reaction(reaction.kind);
    if (own === undefined || this.#isForbidden) return this.#append(reaction, before);
    try {
      return await this.#append(reaction, own);
    } catch (error) {
      if (!(error instanceof BusError) || error.code !== 'BUS_FORBIDDEN') throw error;
      this.#isForbidden = true;
      return this.#append(reaction, before);
    }
  }

  async #append(reaction: NewReaction, subject: string): Promise<boolean> {
    const { id, name, body, timeMs, link } = reaction;
    const { duplicate } = await append(this.#bus, {
      subject,
      payload: body,
      msgId: escapeHeader(id),
      timeoutMs: TIMEOUT_MS,
      headers: {
        [REACTION_HEADERS.id]: escapeHeader(id),
        [REACTION_HEADERS.name]: escapeHeader(name),
        [REACTION_HEADERS.time]: String(timeMs),
        ...(link === undefined ? {} : { [REACTION_HEADERS.link]: escapeHeader(link) }),
      },
    });
    return !duplicate;
  }

  /** Several adders count on their own: together they may add a little more than the limits. */
  async #counted(): Promise<void> {
    if (performance.now() - this.#waiting.countedAt <= COUNT_MS) return;
    this.#counting ??= this.#count().finally(() => (this.#counting = undefined));
    await this.#counting;
  }

  async #count(): Promise<void> {
    const info = await streamInfo(this.#bus, STREAMS.reactions);
    const { messages = 0, bytes = 0 } = info ?? {};
    const most = Number(info?.config['max_bytes'] ?? -1);
    const countedAt = performance.now();
    this.#waiting = { messages, bytes, countedAt, room: most > 0 ? most : Infinity };
  }

  /** While the whole queue has no more than the part of one source, no source is looked at. */
  async #isOverShare(source: string, bytes: number): Promise<boolean> {
    const { partOfOne } = LIMITS.reactions;
    const room = this.#waiting.room * partOfOne;
    const most = this.#mostWaiting > 0 ? Math.ceil(this.#mostWaiting * partOfOne) : Infinity;
    const isBeyond = (waiting: Waiting): boolean =>
      waiting.bytes + bytes > room || waiting.messages >= most;
    if (!isBeyond(this.#waiting)) return false;
    return isBeyond(await this.#waitingOf(source));
  }

  async #waitingOf(source: string): Promise<Waiting> {
    const known = this.#bySource.get(source);
    if (known !== undefined && performance.now() - known.countedAt <= COUNT_MS) return known;
    const counts = await subjectCounts(
      this.#bus,
      STREAMS.reactions,
      subjects.reactionOf(source, '>'),
    );
    const found: Waiting = { messages: 0, bytes: 0, countedAt: performance.now() };
    for (const [subject, messages] of counts) {
      found.messages += messages;
      found.bytes += messages * KIB * Number(subject.split('.').at(-1));
    }
    if (this.#bySource.size >= SOURCES_MAX) this.#bySource.clear();
    this.#bySource.set(source, found);
    return found;
  }

  #note(source: string | undefined, bytes: number): void {
    const own = source === undefined ? undefined : this.#bySource.get(source);
    for (const waiting of [this.#waiting, own]) {
      if (waiting === undefined) continue;
      waiting.messages += 1;
      waiting.bytes += bytes;
    }
  }
}

/**
 * How many reactions to events wait or are at work, in the whole cluster.
 * @throws BusError as `Inbox.request` does
 */
export async function reactionsWaiting(bus: Bus): Promise<number> {
  return (await streamInfo(bus, STREAMS.reactions))?.messages ?? 0;
}
