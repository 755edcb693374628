import type { Interest, SimConnection } from './connection.ts';
import { matcherOf } from './message.ts';

/** Who wants to hear what. */
export class Interests {
  readonly #exact = new Map<string, Set<Interest>>();
  readonly #patterns = new Map<Interest, (subject: string) => boolean>();

  add(interest: Interest): void {
    if (/[*>]/.test(interest.pattern)) {
      this.#patterns.set(interest, matcherOf(interest.pattern));
      return;
    }
    const known = this.#exact.get(interest.pattern);
    if (known === undefined) this.#exact.set(interest.pattern, new Set([interest]));
    else known.add(interest);
  }

  remove(interest: Interest): void {
    this.#patterns.delete(interest);
    const known = this.#exact.get(interest.pattern);
    known?.delete(interest);
    if (known?.size === 0) this.#exact.delete(interest.pattern);
  }

  removeAllOf(connection: SimConnection): void {
    for (const interest of this.#patterns.keys()) {
      if (interest.connection === connection) this.#patterns.delete(interest);
    }
    for (const interests of this.#exact.values()) {
      for (const interest of interests) {
        if (interest.connection === connection) interests.delete(interest);
      }
    }
  }

  /** Those of connections that stand. */
  of(subject: string): readonly Interest[] {
    const found: Interest[] = [];
    for (const interest of this.#exact.get(subject) ?? []) {
      if (interest.connection.isUp) found.push(interest);
    }
    for (const [interest, matches] of this.#patterns) {
      if (interest.connection.isUp && matches(subject)) found.push(interest);
    }
    return found;
  }
}
