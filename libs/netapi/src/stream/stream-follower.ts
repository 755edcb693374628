import { setImmediate as turn } from 'node:timers/promises';
import { sleepUnless } from '@brine/tasks';
import {
  type Followed,
  type Followers,
  type FollowerSink,
  LAG_BYTES,
  LAG_MS,
} from '../live/followers.ts';
import { Frame } from '../live/frames.ts';
import type { Resumed } from '../live/recent-events.ts';
import type { Sight } from '../live/sight.ts';
import { byeText, helloText, lagText, refusedText, resetText } from './messages.ts';
import type { Replays } from './replays.ts';
import type { Topics } from './topics.ts';

/** Events of one frame of a replay. All begin at the same numbers, so that they are shared. */
const FRAME_EVENTS = 256;
/** More waits until this is sent: others get their turn, and memory stays small. */
const UNSENT_BYTES = LAG_BYTES / 2;
const POLL_MS = 50;
/** A new leader of the streams has all of them after this, ms. */
const BEYOND_MS = 2_000;
/** Without streams for this long, the peer comes again later, ms. */
const AWAY_MS = 30_000;

/** What a follower of a stream is. */
export interface StreamSpec {
  readonly sink: FollowerSink;
  readonly gone: AbortSignal;
  readonly topics: Topics;
  readonly sight: Sight;
  /** It has all up to here; undefined: it wants what comes from now on. */
  readonly from: string | undefined;
}

/** What followers of streams share. */
export interface StreamParts {
  readonly followers: Followers;
  readonly replays: Replays;
}

/**
 * A follower of a stream: it gets what it missed, and then, without a gap and with nothing twice,
 * what comes.
 */
export class StreamFollower implements Followed {
  readonly #spec: StreamSpec;
  readonly #parts: StreamParts;
  #sight: Sight;
  #seq = 0;
  #position = '';
  #followed: Followed | undefined;
  #isOver = false;

  constructor(spec: StreamSpec, parts: StreamParts) {
    this.#spec = spec;
    this.#parts = parts;
    this.#sight = spec.sight;
  }

  look(sight: Sight): void {
    this.#sight = sight;
    this.#followed?.look(sight);
  }

  remove(): void {
    this.#isOver = true;
    this.#followed?.remove();
  }

  /** Ends the stream where it has not become one of all followers yet. */
  end(): void {
    if (this.#followed !== undefined || this.#isOver) return;
    this.#isOver = true;
    this.#spec.sink.end(byeText());
  }

  /** Sends what it missed, and lets it follow. Resolves when it follows, or its peer is gone. */
  async begin(): Promise<void> {
    const { topics, from } = this.#spec;
    const first = from === undefined ? this.#now() : await this.#resume(from);
    if (first === undefined) this.end();
    if (this.#isEnded) return;
    const { names, refused } = topics;
    this.#write(helloText(this.#position, names) + refusedText(refused) + first);
    let waitedMs = 0;
    while (!this.#isEnded) {
      const { recent } = this.#parts.followers;
      if (this.#seq < recent.first) this.#skip();
      const to = this.#parts.followers.boundary(this.#sight, topics.form);
      if (this.#seq === to) {
        this.#followed = this.#parts.followers.add(this.#spec.sink, this.#sight, topics.form);
        return;
      }
      const isFull = this.#spec.sink.unsentBytes > UNSENT_BYTES;
      if (isFull || this.#seq > to) {
        waitedMs = isFull ? waitedMs + POLL_MS : 0;
        if (waitedMs > LAG_MS) this.#giveUp();
        else await sleepUnless(POLL_MS, this.#spec.gone);
        continue;
      }
      waitedMs = 0;
      await this.#replay(to);
    }
  }

  get #isEnded(): boolean {
    return this.#isOver || this.#spec.gone.aborted;
  }

  #write(text: string): void {
    if (text !== '') this.#spec.sink.write(new Frame(text, 0));
  }

  #now(): string {
    const { followers } = this.#parts;
    this.#seq = followers.boundary(this.#sight, this.#spec.topics.form);
    this.#position = followers.recent.before(this.#seq);
    return '';
  }

  /** Finds where to continue; the text is what it gets first. Undefined: it has to come again. */
  async #resume(from: string): Promise<string | undefined> {
    const { followers, replays } = this.#parts;
    const { recent } = followers;
    const until = performance.now() + AWAY_MS;
    while (recent.resume(from) === undefined) {
      const coverage = await replays.cover(from);
      if (coverage === 'gone') return this.#reset();
      if (coverage === 'far') return this.#restart(from);
      if (this.#isEnded || performance.now() >= until) return undefined;
      if (coverage === 'away') await sleepUnless(POLL_MS, this.#spec.gone);
    }
    const isThere = await this.#waitsFor(from);
    if (isThere === undefined) return undefined;
    const resumed = isThere ? recent.resume(from) : undefined;
    return resumed === undefined ? this.#reset() : this.#continue(resumed, from);
  }

  /** Waits until this process has read as far; false if the streams end before that. */
  async #waitsFor(from: string): Promise<boolean | undefined> {
    const { replays } = this.#parts;
    const begun = performance.now();
    for (;;) {
      if (this.#isEnded) return undefined;
      const waitedMs = performance.now() - begun;
      const has = await replays.hasReached(from).catch(() => false);
      if (has === true) return true;
      if (has === 'beyond' && waitedMs > BEYOND_MS) return false;
      if (waitedMs > AWAY_MS) return undefined;
      await sleepUnless(POLL_MS, this.#spec.gone);
    }
  }

  #restart(from: string): string {
    this.#now();
    return lagText({ dropped: null, from, to: this.#position });
  }

  #reset(): string {
    this.#now();
    return resetText(this.#position);
  }

  /** Gives what it has not yet of the part that another process may have read in another order. */
  async #continue({ seq, mixedTo, reached }: Resumed, from: string): Promise<string> {
    this.#seq = seq;
    this.#position = from;
    const { recent } = this.#parts.followers;
    const to = Math.min(mixedTo, recent.end);
    const isMixed = recent.slice(seq, to).some((event) => reached.has(event));
    if (!isMixed) return '';
    let text = '';
    for (let at = seq; at < to; at += 1) {
      const [event] = recent.slice(at, at + 1);
      if (event === undefined || reached.has(event)) continue;
      text += (await this.#frame(at, at + 1)).text;
    }
    this.#seq = to;
    this.#position = recent.before(to);
    return text;
  }

  #frame(from: number, to: number): Promise<Frame> {
    return this.#parts.replays.frame(this.#spec.topics.form, this.#sight, from, to);
  }

  async #replay(end: number): Promise<void> {
    const to = Math.min(end, (Math.floor(this.#seq / FRAME_EVENTS) + 1) * FRAME_EVENTS);
    const position = this.#parts.followers.recent.before(to);
    const frame = await this.#frame(this.#seq, to);
    if (this.#isEnded) return;
    if (frame.text !== '') this.#spec.sink.write(frame);
    this.#seq = to;
    this.#position = position;
    await turn();
  }

  /** It was so slow that what it missed is not kept any more. */
  #skip(): void {
    const { recent } = this.#parts.followers;
    const dropped = recent.first - this.#seq;
    this.#write(lagText({ dropped, from: this.#position, to: recent.base }));
    this.#seq = recent.first;
    this.#position = recent.base;
  }

  #giveUp(): void {
    const { recent } = this.#parts.followers;
    const dropped = recent.end - this.#seq;
    this.#isOver = true;
    this.#spec.sink.end(lagText({ dropped, from: this.#position, to: recent.position }));
  }
}
