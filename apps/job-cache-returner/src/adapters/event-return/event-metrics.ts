import type { EventReturn, EventReturnCounts } from '@brine/event-return';
import type { Metrics } from '@brine/service';

/** The sources of one returner's metrics. */
export interface MeasuredReturner {
  readonly name: string;
  readonly events: Pick<EventReturn, 'isOwner' | 'oldestMs'>;
  readonly isAway: () => boolean;
}

/** The counts of `event_return`, by returner. */
export class EventMetrics {
  readonly #metrics: Metrics;
  readonly #events: ReturnType<Metrics['counter']>;
  readonly #gaps: ReturnType<Metrics['counter']>;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    this.#events = metrics.counter(
      'brine_event_return_events_total',
      'Events by what became of them: returned, quarantined, unreadable.',
    );
    this.#gaps = metrics.counter(
      'brine_event_return_gaps_total',
      'Times that events were missed because the streams no longer have them.',
    );
  }

  /** The counts of one returner. */
  of(returner: string): EventReturnCounts {
    // Made here, at 0: the first step of a missing counter would not show.
    const gaps = this.#gaps.of({ returner });
    const add = (outcome: string, by: number): void => {
      this.#events.add(by, { returner, outcome });
    };
    return {
      returned: (events) => add('returned', events),
      quarantined: () => add('quarantined', 1),
      unreadable: (events) => add('unreadable', events),
      gap: () => gaps.add(),
    };
  }

  /** Figures that are read on request. */
  expose(returners: readonly MeasuredReturner[]): void {
    this.#metrics.gaugeOf(
      'brine_event_return_away',
      '1 while a returner takes nothing; reported by the process that writes there.',
      () =>
        returners.map(({ name, isAway }) => {
          return { labels: { returner: name }, value: Number(isAway()) };
        }),
    );
    this.#metrics.gaugeOf(
      'brine_event_return_behind_seconds',
      'Age of the oldest event that is being written.',
      () =>
        returners.map(({ name, events: { oldestMs } }) => {
          const seconds = oldestMs === undefined ? 0 : (Date.now() - oldestMs) / 1_000;
          return { labels: { returner: name }, value: Math.max(0, seconds) };
        }),
    );
  }
}
