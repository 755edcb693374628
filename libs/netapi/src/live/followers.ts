import type { LiveEvent } from './live-events.ts';

/** Where a follower's frames go. */
export interface FollowerSink {
  /** Bytes that the peer has not taken yet. */
  readonly unsentBytes: number;
  write(frames: string): void;
  /** Ends the stream, at once if the peer takes nothing. */
  end(last: string | undefined): void;
}

/** Which events a follower gets. Followers with the same key get the same events. */
export interface Sight {
  readonly key: string;
  sees(event: LiveEvent): boolean;
}

/** How an event is written for a kind of follower. */
export type WriteFrame = (event: Pick<LiveEvent, 'tag' | 'data'>) => string;

/** A follower gets this many writes a second, and fewer once there are many. */
const FLUSH_MS = 100;
const FLUSH_CROWD_MS = 1_000;
const CROWD = 2_000;
/** With this much unsent, a follower gets no more events until it has read. */
const LAG_BYTES = 1024 * 1024;
/** A follower that still has not read after this long is closed, ms. */
const LAG_MS = 10_000;

/** The tag of the event that counts what a slow follower did not get. */
export const LAG_TAG = 'brine/netapi/dropped';

interface Follower {
  readonly sink: FollowerSink;
  dropped: number;
  laggingSince: number | undefined;
}

/** Followers that get the same frames. */
interface Group {
  readonly sight: Sight;
  readonly write: WriteFrame;
  readonly followers: Set<Follower>;
  frames: string[];
}

/** Counts of followers. */
export interface FollowerStats {
  readonly followers: number;
  readonly dropped: number;
  readonly closed: number;
}

/**
 * Sends events to any number of followers: each frame is made once for all who may see it, and a
 * follower that does not read harms no other.
 */
export class Followers {
  readonly #groups = new Map<string, Group>();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;
  #dropped = 0;
  #closed = 0;

  get stats(): FollowerStats {
    return { followers: this.#count, dropped: this.#dropped, closed: this.#closed };
  }

  /**
   * Adds a follower; the returned function removes it.
   * @param form names the form of its frames
   */
  add(sink: FollowerSink, sight: Sight, form: string, write: WriteFrame): () => void {
    const key = `${form} ${sight.key}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { sight, write, followers: new Set(), frames: [] };
      this.#groups.set(key, group);
    }
    const { followers } = group;
    const follower: Follower = { sink, dropped: 0, laggingSince: undefined };
    followers.add(follower);
    this.#count += 1;
    return () => {
      if (!followers.delete(follower)) return;
      this.#count -= 1;
      if (followers.size === 0 && this.#groups.get(key)?.followers === followers) {
        this.#groups.delete(key);
      }
    };
  }

  /** Takes an event for those who may see it. */
  readonly take = (event: LiveEvent): void => {
    let isWanted = false;
    for (const group of this.#groups.values()) {
      if (!group.sight.sees(event)) continue;
      group.frames.push(group.write(event));
      isWanted = true;
    }
    if (!isWanted || this.#timer !== undefined) return;
    const waitMs = this.#count > CROWD ? FLUSH_CROWD_MS : FLUSH_MS;
    this.#timer = setTimeout(() => this.#flush(), waitMs);
  };

  /** Ends all streams. */
  close(): void {
    clearTimeout(this.#timer);
    for (const { followers } of this.#groups.values()) {
      for (const { sink } of followers) sink.end(undefined);
    }
    this.#groups.clear();
    this.#count = 0;
  }

  #flush(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const group of this.#groups.values()) {
      if (group.frames.length === 0) continue;
      const { length } = group.frames;
      const frames = group.frames.join('');
      group.frames = [];
      for (const follower of group.followers) this.#send(group, follower, { frames, length, now });
    }
  }

  #send(
    { write, followers }: Group,
    follower: Follower,
    {
      frames,
      length,
      now,
    }: { readonly frames: string; readonly length: number; readonly now: number },
  ): void {
    const { sink } = follower;
    if (sink.unsentBytes > LAG_BYTES) {
      follower.dropped += length;
      this.#dropped += length;
      follower.laggingSince ??= now;
      if (now - follower.laggingSince < LAG_MS) return;
      followers.delete(follower);
      this.#count -= 1;
      this.#closed += 1;
      sink.end(lagFrame(write, follower.dropped));
      return;
    }
    if (follower.dropped > 0) sink.write(lagFrame(write, follower.dropped));
    follower.dropped = 0;
    follower.laggingSince = undefined;
    sink.write(frames);
  }
}

function lagFrame(write: WriteFrame, dropped: number): string {
  return write({ tag: LAG_TAG, data: new Map([['dropped', dropped]]) });
}
