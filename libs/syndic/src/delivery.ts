import { backoffMs, type Log } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';
import type { Clock, EventToForward, MasterAbove } from './ports.ts';

/** A kind of request: how it is built from events, and the step after its delivery. */
export interface Parcel<T> {
  load(some: readonly T[]): SaltMap;
  taken(some: readonly T[]): void;
}

/** The parts of a delivery. */
export interface DeliveryParts {
  readonly above: MasterAbove;
  readonly clock: Clock;
  readonly log: Log;
}

interface WithEvent {
  readonly event: EventToForward;
}

const PAUSES = { firstMs: 250, longestMs: 5_000 };
/** After this many refusals of the same request a master will not take it. */
const REFUSALS_MAX = 10;

/**
 * Sends requests to a master above until they are delivered, however long it is unreachable. A
 * refused request is sent in halves, so that one bad return delays no other. An event that is
 * refused alone repeatedly is given up, and so is an event that is older than masters keep jobs.
 */
export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #keepMs: number;
  readonly #counts = { retries: 0, lost: 0 };
  #flows = true;
  #isLossLogged = false;

  constructor(parts: DeliveryParts, keepMs: number) {
    this.#parts = parts;
    this.#keepMs = keepMs;
  }

  get stats(): { readonly retries: number; readonly lost: number } {
    return this.#counts;
  }

  /** True if the last request was delivered. */
  get flows(): boolean {
    return this.#flows;
  }

  /** Resolves once all are delivered or given up; rejects with the signal's reason. */
  async deliver<T extends WithEvent>(
    all: readonly T[],
    parcel: Parcel<T>,
    signal: AbortSignal,
  ): Promise<void> {
    const { above, clock } = this.#parts;
    let some = this.#stillKept(all);
    let refusals = 0;
    for (let tries = 1; some.length > 0; tries += 1) {
      signal.throwIfAborted();
      const sent = await above.send(parcel.load(some), signal);
      signal.throwIfAborted();
      this.#report(sent === 'taken' || sent === 'refused');
      if (sent === 'taken') return parcel.taken(some);
      this.#counts.retries += 1;
      if (sent === 'refused' && some.length > 1) return this.#halves(some, parcel, signal);
      if (sent === 'refused' && ++refusals >= REFUSALS_MAX) return this.#giveUp(some, 'refused');
      await clock.sleep(backoffMs(PAUSES, tries), signal);
      some = this.#stillKept(some);
    }
  }

  async #halves<T extends WithEvent>(
    some: readonly T[],
    parcel: Parcel<T>,
    signal: AbortSignal,
  ): Promise<void> {
    const middle = Math.ceil(some.length / 2);
    await this.deliver(some.slice(0, middle), parcel, signal);
    await this.deliver(some.slice(middle), parcel, signal);
  }

  #stillKept<T extends WithEvent>(some: readonly T[]): readonly T[] {
    const since = this.#parts.clock.nowMs() - this.#keepMs;
    const old = some.filter(({ event }) => event.timeMs < since);
    if (old.length === 0) return some;
    this.#giveUp(old, 'too old');
    return some.filter(({ event }) => event.timeMs >= since);
  }

  #giveUp(some: readonly WithEvent[], why: string): void {
    this.#counts.lost += some.length;
    for (const { event } of some) event.ack();
    if (this.#isLossLogged) return;
    this.#isLossLogged = true;
    const tag = some[0]?.event.tag;
    this.#parts.log.error({ tag, count: some.length, why }, 'given up on the way up');
  }

  #report(flows: boolean): void {
    if (flows === this.#flows) return;
    this.#flows = flows;
    if (flows) {
      this.#isLossLogged = false;
      this.#parts.log.info({}, 'the master above takes events again');
    } else this.#parts.log.warn({}, 'the master above is unreachable: its events wait');
  }
}
