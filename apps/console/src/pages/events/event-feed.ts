import type { EventShown } from '@brine/api';
import { eventKey } from './places-of-events.ts';

/** Rows that a tab keeps, at most. */
export const ROWS_MAX = 5_000;

/** What a list of events has. */
export interface FeedShown {
  /** Oldest first. */
  readonly rows: readonly EventShown[];
  /** Events that came while the list was paused. */
  readonly waits: number;
  /** Rows that were there, and gave their place to newer ones. */
  readonly forgotten: number;
}

/** Events of pages, of the stream and of replays: each is there once, in the order of time. */
export class EventFeed {
  #keys = new Set<string>();
  #waiting: EventShown[] = [];
  #isPaused = false;
  #shown: FeedShown = { rows: [], waits: 0, forgotten: 0 };
  readonly #watchers = new Set<() => void>();

  get shown(): FeedShown {
    return this.#shown;
  }

  /** Calls after each change. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  /** Adds what was asked for: it does not wait. */
  add(events: readonly EventShown[]): void {
    const fresh = this.#fresh(events);
    if (fresh.length > 0) this.#show([...this.#shown.rows, ...fresh], this.#shown.waits);
  }

  /** Adds what came by itself. While the list is paused it waits. */
  take(events: readonly EventShown[]): void {
    if (!this.#isPaused) {
      this.add(events);
      return;
    }
    const fresh = this.#fresh(events);
    if (fresh.length === 0) return;
    const waiting = [...this.#waiting, ...fresh];
    this.#forget(waiting.slice(0, -ROWS_MAX));
    this.#waiting = waiting.slice(-ROWS_MAX);
    this.#set({ ...this.#shown, waits: this.#shown.waits + fresh.length });
  }

  /** Lets new events wait, or shows those that waited. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (isPaused || this.#shown.waits === 0) return;
    const waiting = this.#waiting;
    // More came than could wait: with the rows before there would be a gap between them.
    const isWhole = waiting.length === this.#shown.waits;
    const before = isWhole ? this.#shown.rows : [];
    if (!isWhole) this.#forget(this.#shown.rows);
    this.#waiting = [];
    this.#show([...before, ...waiting], 0);
  }

  #fresh(events: readonly EventShown[]): readonly EventShown[] {
    return events.filter((event) => {
      const key = eventKey(event);
      if (this.#keys.has(key)) return false;
      this.#keys.add(key);
      return true;
    });
  }

  #show(all: readonly EventShown[], waits: number): void {
    const inOrder = all.every((event, at) => (all[at - 1]?.at ?? '') <= event.at)
      ? all
      : all.toSorted((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
    const over = Math.max(0, inOrder.length - ROWS_MAX);
    this.#forget(inOrder.slice(0, over));
    const forgotten = this.#shown.forgotten + over;
    this.#set({ rows: inOrder.slice(over), waits, forgotten });
  }

  #forget(events: readonly EventShown[]): void {
    for (const event of events) this.#keys.delete(eventKey(event));
  }

  #set(shown: FeedShown): void {
    this.#shown = shown;
    for (const changed of this.#watchers) changed();
  }
}
