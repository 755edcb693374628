import type { Metrics, Sample } from '@brine/service';
import { LRUCache } from 'lru-cache';

/** The fields of an event that are noted. */
export interface MinionEvent {
  readonly tag: string;
  readonly minion: string | undefined;
  /** Unix ms. */
  readonly timeMs: number;
}

/** Keys of minions, as they are known here. */
export type AcceptedMinions = () => Iterable<string>;

const BEACONS = 'salt/beacon/';
/** Interval of checking the number of minions. */
const LOOK_MS = 1_000;

/**
 * The time of the last event of minions, in the metrics of salt-exporter: any event, and the status
 * beacon as their heartbeat. Only accepted minions have metrics, and above `max` none has. A minion
 * without a beacon counts from the time when it was first seen to be accepted.
 */
export class MinionTimes {
  readonly #max: number;
  readonly #accepted: AcceptedMinions;
  readonly #events: LRUCache<string, number>;
  readonly #beats: LRUCache<string, number>;
  #isWanted = true;
  #lookedAtMs = -Infinity;

  constructor(accepted: AcceptedMinions, max: number) {
    this.#accepted = accepted;
    this.#max = max;
    // The cache needs at least one place; with a maximum of 0 it stays empty.
    this.#events = new LRUCache({ max: Math.max(1, max) });
    this.#beats = new LRUCache({ max: Math.max(1, max) });
  }

  /** True if events are to be noted: not while there are more minions than have metrics. */
  get wanted(): boolean {
    if (performance.now() - this.#lookedAtMs < LOOK_MS) return this.#isWanted;
    this.#lookedAtMs = performance.now();
    let left = this.#max;
    for (const _ of this.#accepted()) if (--left < 0) break;
    this.#isWanted = this.#max > 0 && left >= 0;
    return this.#isWanted;
  }

  /** Notes an event. */
  saw({ tag, minion, timeMs }: MinionEvent): void {
    if (minion === undefined || this.#max === 0) return;
    this.#events.set(minion, timeMs);
    if (tag.startsWith(BEACONS) && tag.split('/', 4)[3] === 'status') {
      this.#beats.set(minion, timeMs);
    }
  }

  /** Adds the metrics of salt-exporter about the health of minions. */
  expose(metrics: Metrics): void {
    metrics.gaugeOf(
      'salt_health_minions_total',
      'Minions whose keys are accepted.',
      () => [...this.#accepted()].length,
    );
    metrics.gaugeOf(
      'salt_health_last_heartbeat',
      'Last status beacon of a minion, Unix time.',
      () => this.#times(this.#beats, Date.now()),
    );
    metrics.gaugeOf(
      'salt_responses_last_received_response',
      'Last event of a minion, Unix time.',
      () => this.#times(this.#events, undefined),
    );
  }

  #times(times: LRUCache<string, number>, first: number | undefined): readonly Sample[] {
    const minions = [...this.#accepted()];
    if (minions.length > this.#max) return [];
    return minions.flatMap((minion) => {
      if (first !== undefined && !times.has(minion)) times.set(minion, first);
      const at = times.get(minion);
      return at === undefined ? [] : [{ labels: { minion }, value: Math.floor(at / 1000) }];
    });
  }
}
