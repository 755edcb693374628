import { createHash } from 'node:crypto';
import type { Appended } from '@brine/bus';
import type { Event } from '@brine/job';

/** Returns that are remembered; one takes some 200 bytes. */
const KEPT_MAX = 20_000;
/** A stream that was lost or put back has them no more: after so long they are appended again. */
const KEPT_MS = 30_000;

/**
 * Where the stream has the returns that had no answer. A gateway delivers their bytes again until
 * there is one. Appended each time, every return would become a dozen events while PostgreSQL is
 * away or slow, and that load would keep it slow.
 */
export class UnansweredReturns {
  readonly #kept = new Map<string, { readonly at: Appended; readonly untilMs: number }>();

  /** How many are remembered. */
  get size(): number {
    return this.#kept.size;
  }

  /** Where the stream has the same bytes; undefined for a return that is new. */
  find(event: Pick<Event, 'tag' | 'body'>): Appended | undefined {
    // The usual case: a digest would cost every return.
    if (this.#kept.size === 0) return undefined;
    const kept = this.#kept.get(keyOf(event));
    return kept !== undefined && performance.now() < kept.untilMs ? kept.at : undefined;
  }

  /** Remembers a return that has no answer. One that was found keeps its time. */
  note(event: Pick<Event, 'tag' | 'body'>, at: Appended): void {
    const now = performance.now();
    for (const [oldest, { untilMs }] of this.#kept) {
      if (now < untilMs && this.#kept.size < KEPT_MAX) break;
      this.#kept.delete(oldest);
    }
    const key = keyOf(event);
    if (this.#kept.has(key)) return;
    this.#kept.set(key, { at: { ...at, duplicate: true }, untilMs: now + KEPT_MS });
  }

  /** Forgets a return that has its answer. */
  forget(event: Pick<Event, 'tag' | 'body'>): void {
    if (this.#kept.size > 0) this.#kept.delete(keyOf(event));
  }
}

function keyOf({ tag, body }: Pick<Event, 'tag' | 'body'>): string {
  return createHash('sha256').update(tag).update('\n').update(body).digest('base64url');
}
