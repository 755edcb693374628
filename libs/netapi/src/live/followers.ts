import { FOLLOWER_PLACES, Places, type PlaceStats } from '../places.ts';
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
  /** Removed, or closed because it did not read: it joins no group again. */
  isOver: boolean;
}

/** A follower that was added. */
export interface Followed {
  /** From now on it gets the events of another sight: its rights have changed. */
  look(sight: Sight): void;
  remove(): void;
}

/** Followers that get the same frames. */
interface Group {
  readonly key: string;
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
  readonly #places = new Places(FOLLOWER_PLACES);
  #timer: NodeJS.Timeout | undefined;
  #count = 0;
  #dropped = 0;
  #closed = 0;

  get stats(): FollowerStats {
    return { followers: this.#count, dropped: this.#dropped, closed: this.#closed };
  }

  /** Counts of places, and of those that found none. */
  get places(): PlaceStats {
    return this.#places.stats;
  }

  /**
   * Takes a place for a follower of this user; the returned function gives it back.
   * @throws NetapiError 503
   */
  enter(user: string): () => void {
    return this.#places.enter([user]);
  }

  /**
   * Adds a follower.
   * @param form names the form of its frames
   */
  add(sink: FollowerSink, sight: Sight, form: string, write: WriteFrame): Followed {
    const follower: Follower = { sink, dropped: 0, laggingSince: undefined, isOver: false };
    let group = this.#join(follower, sight, form, write);
    this.#count += 1;
    return {
      look: (other) => {
        if (follower.isOver || other.key === group.sight.key) return;
        // What it may have seen until now is sent first.
        this.#flushGroup(group);
        if (follower.isOver) return;
        this.#part(group, follower);
        group = this.#join(follower, other, form, write);
      },
      remove: () => this.#remove(group, follower),
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
    this.#timer = undefined;
    for (const group of this.#groups.values()) {
      for (const follower of group.followers) {
        this.#remove(group, follower);
        follower.sink.end(undefined);
      }
    }
  }

  #join(follower: Follower, sight: Sight, form: string, write: WriteFrame): Group {
    const key = `${form} ${sight.key}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { key, sight, write, followers: new Set(), frames: [] };
      this.#groups.set(key, group);
    }
    group.followers.add(follower);
    return group;
  }

  #part(group: Group, follower: Follower): void {
    const { key, followers } = group;
    followers.delete(follower);
    if (followers.size === 0 && this.#groups.get(key) === group) this.#groups.delete(key);
  }

  #remove(group: Group, follower: Follower): void {
    if (follower.isOver) return;
    follower.isOver = true;
    this.#part(group, follower);
    this.#count -= 1;
  }

  #flush(): void {
    this.#timer = undefined;
    for (const group of this.#groups.values()) this.#flushGroup(group);
  }

  #flushGroup(group: Group): void {
    if (group.frames.length === 0) return;
    const now = performance.now();
    const { length } = group.frames;
    const frames = group.frames.join('');
    group.frames = [];
    for (const follower of group.followers) this.#send(group, follower, { frames, length, now });
  }

  #send(
    group: Group,
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
      this.#remove(group, follower);
      this.#closed += 1;
      sink.end(lagFrame(group.write, follower.dropped));
      return;
    }
    if (follower.dropped > 0) sink.write(lagFrame(group.write, follower.dropped));
    follower.dropped = 0;
    follower.laggingSince = undefined;
    sink.write(frames);
  }
}

function lagFrame(write: WriteFrame, dropped: number): string {
  return write({ tag: LAG_TAG, data: new Map([['dropped', dropped]]) });
}
