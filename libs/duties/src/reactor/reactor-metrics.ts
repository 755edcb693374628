import type { WorkEnd } from '@brine/cluster-work';
import type { FailureKind } from '@brine/reactor';
import type { Metrics } from '@brine/service';
import type { MatchOutcome } from './matching.ts';

export interface ReactorMetrics {
  /** Counts an event that an entry of the list matches. */
  matched(outcome: MatchOutcome): void;
  /** Counts a finished reaction; seconds since its event was stored. */
  reacted(end: WorkEnd, seconds: number): void;
  /** Counts a call. */
  calls(kind: 'local' | 'runner' | 'wheel'): void;
  failed(kind: FailureKind, onRecord: boolean): void;
}

/** Upper bounds in seconds: a reaction may wait in a storm, or run for an hour. */
const BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 3_600] as const;

/** Counts events, reactions and calls of the reactor. */
export function reactorMetrics(
  metrics: Metrics,
  now: { readonly running: () => number; readonly calling: () => number },
): ReactorMetrics {
  const matched = metrics.counter(
    'brine_reactor_events_total',
    'Events that an entry of the reactor matches, by outcome.',
  );
  const reactions = metrics.counter('brine_reactor_reactions_total', 'Reactions, by their end.');
  const calls = metrics.counter('brine_reactor_calls_total', 'Calls of reactions, by kind.');
  const failures = metrics.counter(
    'brine_reactor_failures_total',
    'Reactions that failed, by reason and whether they are on record.',
  );
  const seconds = metrics.histogram(
    'brine_reactor_seconds',
    'Time from an event to the end of its reaction.',
    { buckets: BUCKETS },
  );
  metrics.gaugeOf('brine_reactor_running', 'Reactions at work.', now.running);
  metrics.gaugeOf('brine_reactor_calling', 'Runners and wheels of reactions at work.', now.calling);
  return {
    matched: (outcome) => matched.add(1, { outcome: outcome.replace(' ', '_') }),
    reacted: (end, took) => {
      reactions.add(1, { end });
      if (end === 'over') seconds.observe(took);
    },
    calls: (kind) => calls.add(1, { kind }),
    failed: (reason, onRecord) => failures.add(1, { reason, record: onRecord ? 'yes' : 'no' }),
  };
}
