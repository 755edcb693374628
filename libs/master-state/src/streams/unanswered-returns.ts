import { createHash } from 'node:crypto';
import type { Appended } from '@brine/bus';
import type { Event } from '@brine/job';

/** Limit of remembered returns; one takes 200 bytes. */
const KEPT_MAX = 20_000;
/** Time after which a return is appended again: a stream that was lost or restored lacks it. */
const KEPT_MS = 30_000;

/**
 * Remembers the position of unanswered returns in the stream. A gateway delivers their bytes again
 * until there is an answer. If each delivery were appended, a return would become a dozen events
 * while PostgreSQL is unreachable or slow, and that load would keep it slow.
 */
export class UnansweredReturns {
  readonly #kept = new Map<string, { readonly at: Appended; readonly untilMs: number }>();

  get size(): number {
    return this.#kept.size;
  }

  /** The position of the same bytes in the stream; undefined for a new return. */
  find(event: Pick<Event, 'tag' | 'body'>): Appended | undefined {
    // The usual case: a digest per return would be expensive.
    if (this.#kept.size === 0) return undefined;
    const kept = this.#kept.get(keyOf(event));
    return kept !== undefined && performance.now() < kept.untilMs ? kept.at : undefined;
  }

  /** Remembers a return without an answer. A known one keeps its time. */
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

  /** Forgets an answered return. */
  forget(event: Pick<Event, 'tag' | 'body'>): void {
    if (this.#kept.size > 0) this.#kept.delete(keyOf(event));
  }
}

function keyOf({ tag, body }: Pick<Event, 'tag' | 'body'>): string {
  return createHash('sha256').update(tag).update('\n').update(body).digest('base64url');
}
