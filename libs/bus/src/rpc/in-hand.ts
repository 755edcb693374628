import type { RequestClass } from '../subjects/names.ts';

/** How much a gateway holds at once, for one class. */
export interface ClassLimit {
  readonly count: number;
  readonly bytes: number;
}

/** What a gateway has in hand for one class. */
export interface ClassStats {
  readonly inFlight: number;
  readonly waiting: number;
  readonly bytes: number;
}

/** What a gateway counts. */
export interface RequestSenderStats {
  readonly classes: Readonly<Record<RequestClass, ClassStats>>;
  /** Workers that are alive and take requests. */
  readonly workers: number;
  /** Tries of another worker after a claim had lapsed. */
  readonly retries: number;
  readonly expired: number;
  /** Requests that were refused because two workers stalled or died that had them. */
  readonly stalled: number;
  /** Requests that were turned away while their askers rest after such a one. */
  readonly resting: number;
  readonly refusedByLimit: number;
}

const MIB = 1_048_576;
const LIMITS: Readonly<Record<RequestClass, ClassLimit>> = {
  auth: { count: 20_000, bytes: 64 * MIB },
  clear: { count: 5_000, bytes: 256 * MIB },
  aes: { count: 50_000, bytes: 512 * MIB },
};

/** What a gateway has in hand, by count and bytes, and no more of it than the limits say. */
export class InHand {
  readonly #limits: Readonly<Record<RequestClass, ClassLimit>>;
  readonly #held = {
    auth: { count: 0, bytes: 0 },
    clear: { count: 0, bytes: 0 },
    aes: { count: 0, bytes: 0 },
  };
  #refused = 0;
  retries = 0;
  expired = 0;

  constructor(limits: Partial<Readonly<Record<RequestClass, ClassLimit>>> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /** How many were refused because of a limit. */
  get refused(): number {
    return this.#refused;
  }

  /** What is held of a class. */
  of(cls: RequestClass): ClassLimit {
    return this.#held[cls];
  }

  /** All that is counted here; `waiting` of it has no worker yet. */
  stats(waiting: (cls: RequestClass) => number) {
    const of = (cls: RequestClass): ClassStats => {
      const { count, bytes } = this.#held[cls];
      return { inFlight: count - waiting(cls), waiting: waiting(cls), bytes };
    };
    return {
      classes: { auth: of('auth'), clear: of('clear'), aes: of('aes') },
      retries: this.retries,
      expired: this.expired,
      refusedByLimit: this.#refused,
    };
  }

  /** Takes one in hand; false, and counted, where a limit forbids it. */
  take(cls: RequestClass, bytes: number): boolean {
    const held = this.#held[cls];
    const limit = this.#limits[cls];
    if (held.count >= limit.count || held.bytes + bytes > limit.bytes) {
      this.#refused++;
      return false;
    }
    held.count++;
    held.bytes += bytes;
    return true;
  }

  /** Lets one go. */
  give(cls: RequestClass, bytes: number): void {
    this.#held[cls].count--;
    this.#held[cls].bytes -= bytes;
  }
}
