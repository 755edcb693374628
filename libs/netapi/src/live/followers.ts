import { FOLLOWER_PLACES, Places, type PlaceStats } from '../places.ts';
import { type Form, Frame, type FrameMaker } from './frames.ts';
import type { LiveEvent } from './live-events.ts';
import { type RecentEvent, RecentEvents } from './recent-events.ts';
import type { Sight } from './sight.ts';
import { SightClass } from './sight-class.ts';

/** Where a follower's frames go. */
export interface FollowerSink {
  /** Bytes that the peer has not taken yet. */
  readonly unsentBytes: number;
  write(frame: Frame): void;
  /** Ends the stream, at once if the peer takes nothing. */
  end(last: string | undefined): void;
}

/** A follower gets this many writes a second, and fewer once there are many. */
const FLUSH_MS = 100;
const FLUSH_CROWD_MS = 1_000;
const CROWD = 2_000;
/** Writes take a quarter of the time at most: with more bytes there are fewer. */
const REST_SHARE = 3;
/** A frame of this many characters does not wait. */
const FRAME_MAX = 512 * 1024;
/** With this much unsent, a follower gets no more events until it has read. */
export const LAG_BYTES = 1024 * 1024;
/** A follower that still has not read after this long is closed, ms; and with this much at once. */
export const LAG_MS = 10_000;
const UNSENT_MAX_BYTES = 4 * 1024 * 1024;
/** A follower that gets nothing is sent a sign of life this often, ms. */
export const IDLE_MS = 15_000;

interface Follower {
  readonly sink: FollowerSink;
  dropped: number;
  /** The position after the last event that it got before it missed some. */
  missedFrom: string;
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
class Group {
  readonly form: Form;
  readonly sightClass: SightClass<Group>;
  readonly maker: FrameMaker;
  readonly followers = new Set<Follower>();
  /** Something waits for the next flush. */
  isDirty = false;
  /** Events before this number are in no frame that waits. */
  #boundary: number;
  /** The position after what was flushed last. */
  flushedTo: string;
  flushedAt = performance.now();

  constructor(form: Form, sightClass: SightClass<Group>, wake: () => void) {
    this.form = form;
    this.sightClass = sightClass;
    this.maker = form.make(sightClass.sight, () => {
      this.#begin(sightClass.taken);
      wake();
    });
    this.#boundary = sightClass.taken;
    this.flushedTo = sightClass.position;
  }

  get boundary(): number {
    return this.isDirty ? this.#boundary : this.sightClass.taken;
  }

  /** Takes an event that its followers may see; false if it changes nothing for them. */
  take(event: LiveEvent): boolean {
    if (!this.maker.take(event)) return false;
    this.#begin(this.sightClass.taken - 1);
    return true;
  }

  #begin(seq: number): void {
    if (!this.isDirty) this.#boundary = seq;
    this.isDirty = true;
  }

  flush(isLast: boolean): Frame | undefined {
    const { text, events } = this.maker.flush(this.sightClass.position, isLast);
    this.isDirty = false;
    if (text === '') return undefined;
    return new Frame(text, events);
  }

  /** Gives a follower what it may see of events that the others had before it. */
  give({ sink }: Follower, events: readonly LiveEvent[]): void {
    if (events.length === 0) return;
    const { sight, position } = this.sightClass;
    const maker = this.form.make(sight, () => undefined);
    for (const event of events) if (this.sightClass.wants(this, event)) maker.take(event);
    const { text, events: count } = maker.flush(position, true);
    maker.close?.();
    if (text !== '') sink.write(new Frame(text, count));
  }

  /** Gives a follower what the others had before it. */
  join({ sink }: Follower): void {
    const text = this.maker.begun?.(this.sightClass.position) ?? '';
    if (text !== '') sink.write(new Frame(text, 0));
  }
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
  /** What was taken last, for followers that resume. */
  readonly recent = new RecentEvents();
  readonly #classes = new Map<string, SightClass<Group>>();
  readonly #places = new Places(FOLLOWER_PLACES);
  #timer: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #tookMs = 0;
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

  /** A follower that is added now gets the events from this number on. */
  boundary(sight: Sight, form: Form): number {
    const known = this.#classes.get(sight.key);
    return known?.groups.get(form.name)?.boundary ?? known?.taken ?? this.recent.end;
  }

  /** Adds a follower; it gets the events from {@link boundary} on. */
  add(sink: FollowerSink, sight: Sight, form: Form): Followed {
    const follower: Follower = {
      sink,
      dropped: 0,
      missedFrom: '',
      laggingSince: undefined,
      isOver: false,
    };
    let group = this.#join(follower, sight, form);
    this.#count += 1;
    return {
      look: (other) => {
        if (follower.isOver || other.key === group.sightClass.sight.key) return;
        // What it may have seen until now is sent first, whether it is due or not.
        this.#flushGroup(group, true);
        if (follower.isOver) return;
        const { taken } = group.sightClass;
        this.#part(group, follower);
        const next = this.#groupOf(other, form, taken);
        this.#flushGroup(next);
        next.give(follower, this.recent.slice(taken, next.sightClass.taken));
        next.followers.add(follower);
        next.join(follower);
        group = next;
      },
      remove: () => this.#remove(group, follower),
    };
  }

  /** Takes an event for those who may see it. */
  readonly take = (event: RecentEvent): void => {
    this.recent.add(event);
    for (const one of this.#classes.values()) one.take(event);
    event.forget?.();
  };

  /** What was taken until now is not followed by what comes: the streams are others. */
  reset(position: string): void {
    for (const group of this.#groups()) this.#flushGroup(group);
    this.recent.begin(position);
    const now = performance.now();
    for (const group of this.#groups()) {
      const { form, followers } = group;
      if (form.reset === undefined) continue;
      const frame = new Frame(form.reset(position), 0);
      for (const follower of followers) this.#send(group, follower, { frame, now });
    }
  }

  /** Ends all streams. */
  close(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#idle);
    this.#timer = undefined;
    for (const group of this.#groups()) {
      this.#flushGroup(group, true);
      for (const follower of group.followers) {
        this.#remove(group, follower);
        follower.sink.end(group.form.bye?.());
      }
    }
  }

  *#groups(): Generator<Group> {
    for (const one of this.#classes.values()) yield* one.groups.values();
  }

  #join(follower: Follower, sight: Sight, form: Form): Group {
    const group = this.#groupOf(sight, form);
    group.followers.add(follower);
    group.join(follower);
    return group;
  }

  /** @param from events from this number on are judged, though they were taken already */
  #groupOf(sight: Sight, form: Form, from = this.recent.end): Group {
    let sightClass = this.#classes.get(sight.key);
    if (sightClass === undefined) {
      sightClass = new SightClass<Group>(sight, this.recent, (groups, event) =>
        this.#give(groups, event),
      );
      this.#classes.set(sight.key, sightClass);
      sightClass.begin(from);
    }
    let group = sightClass.groups.get(form.name);
    if (group === undefined) {
      group = new Group(form, sightClass, () => this.#arm());
      sightClass.add(group);
    }
    if (form.idle !== undefined && this.#idle === undefined) {
      this.#idle = setInterval(() => this.#signLife(), IDLE_MS);
      this.#idle.unref();
    }
    return group;
  }

  #part(group: Group, follower: Follower): void {
    const { followers, sightClass } = group;
    followers.delete(follower);
    if (followers.size > 0) return;
    sightClass.remove(group);
    group.maker.close?.();
    const { key } = sightClass.sight;
    if (sightClass.groups.size === 0 && this.#classes.get(key) === sightClass) {
      this.#classes.delete(key);
    }
  }

  #remove(group: Group, follower: Follower): void {
    if (follower.isOver) return;
    follower.isOver = true;
    this.#part(group, follower);
    this.#count -= 1;
  }

  #give(groups: Iterable<Group>, event: LiveEvent): void {
    for (const group of groups) {
      if (!group.take(event)) continue;
      if (group.maker.size > FRAME_MAX) this.#flushGroup(group);
      else this.#arm();
    }
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    const least = this.#count > CROWD ? FLUSH_CROWD_MS : FLUSH_MS;
    const waitMs = Math.min(FLUSH_CROWD_MS, Math.max(least, this.#tookMs * REST_SHARE));
    this.#timer = setTimeout(() => this.#flush(), waitMs);
  }

  #flush(): void {
    this.#timer = undefined;
    const begun = performance.now();
    let isPending = false;
    for (const group of this.#groups()) {
      if (group.isDirty || group.maker.isPending) this.#flushGroup(group);
      isPending ||= group.maker.isPending;
    }
    this.#tookMs = performance.now() - begun;
    if (isPending) this.#arm();
  }

  #flushGroup(group: Group, isLast = false): void {
    const frame = group.flush(isLast);
    if (frame === undefined) return;
    const now = performance.now();
    for (const follower of group.followers) this.#send(group, follower, { frame, now });
    group.flushedTo = group.sightClass.position;
    group.flushedAt = now;
  }

  #send(
    group: Group,
    follower: Follower,
    { frame, now }: { readonly frame: Frame; readonly now: number },
  ): void {
    const { sink } = follower;
    const { unsentBytes } = sink;
    if (unsentBytes > LAG_BYTES) {
      if (follower.dropped === 0) follower.missedFrom = group.flushedTo;
      follower.dropped += frame.events;
      this.#dropped += frame.events;
      follower.laggingSince ??= now;
      const isLost = now - follower.laggingSince >= LAG_MS || unsentBytes > UNSENT_MAX_BYTES;
      if (!isLost) return;
      this.#remove(group, follower);
      this.#closed += 1;
      sink.end(lagText(group, follower, group.sightClass.position));
      return;
    }
    if (follower.laggingSince !== undefined) {
      sink.write(new Frame(lagText(group, follower, group.flushedTo), 0));
      follower.dropped = 0;
      follower.laggingSince = undefined;
      group.join(follower);
    }
    sink.write(frame);
  }

  /** Signs of life for streams that were quiet, so that proxies and peers keep them. */
  #signLife(): void {
    const now = performance.now();
    for (const group of this.#groups()) {
      const { form, sightClass, followers } = group;
      if (form.idle === undefined || group.isDirty || now - group.flushedAt < IDLE_MS - 1) continue;
      const frame = new Frame(form.idle(sightClass.position), 0);
      for (const follower of followers) this.#send(group, follower, { frame, now });
      group.flushedTo = sightClass.position;
    }
  }
}

function lagText({ form }: Group, { dropped, missedFrom }: Follower, to: string): string {
  return form.lag({ dropped, from: missedFrom, to });
}
