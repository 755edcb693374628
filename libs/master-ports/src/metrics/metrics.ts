import { type Bus, REQUEST_CLASSES } from '@brine/bus';
import type { RequestReceiver } from '@brine/bus/rpc';
import type { Events, MasterPorts } from '@brine/master';
import type { HotState, StoredAckStats } from '@brine/master-state';
import {
  addConnectionMetrics,
  type Metrics,
  MILLISECOND_BUCKETS,
  type Sample,
  tagPrefixCounter,
} from '@brine/service';

/**
 * Maps the outcome of a log-in to `result` of salt_auth_attempts_total. A pending key is a success
 * in Salt 3008 too (salt/master.py AESFuncs._auth, `ret` True).
 */
const AUTH_RESULTS: Readonly<Record<string, string>> = {
  auth_accept: 'success',
  auth_pend: 'success',
  auth_reject: 'rejected',
  auth_denied: 'rejected',
  auth_error: 'rejected',
  auth_full: 'max_minions',
  auth_unreadable: 'error',
};

/** Counters of requests. */
export interface RequestMetrics extends Required<Pick<MasterPorts, 'count' | 'handled'>> {
  /** The same events, counted once the stream has them. */
  readonly counted: (events: Events) => Events;
}

/** Counts requests by outcome and command, under our names and those of Salt 3008. */
export function requestMetrics(metrics: Metrics): RequestMetrics {
  const outcomes = metrics.counter(
    'brine_worker_outcomes_total',
    'What happened to requests, by outcome.',
  );
  const attempts = metrics.counter('salt_auth_attempts_total', 'Log-ins, by result.');
  const requests = metrics.counter(
    'salt_master_requests_handled_total',
    'Requests of minions and clients, by command.',
  );
  const durations = metrics.histogram(
    'salt_master_requests_duration_milliseconds',
    'Time that a command took, by command.',
    { buckets: MILLISECOND_BUCKETS },
  );
  const fired = tagPrefixCounter(metrics);
  const byCommand = new Map<string, ReturnType<typeof seriesOf>>();
  const seriesOf = (cmd: string) => ({
    requests: requests.of({ cmd }),
    durations: durations.of({ cmd }),
  });
  return {
    count: (outcome) => {
      outcomes.add(1, { outcome });
      const result = AUTH_RESULTS[outcome];
      if (result !== undefined) attempts.add(1, { result });
    },
    // Commands come from closed tables, so these are few.
    handled: (cmd, ms) => {
      let series = byCommand.get(cmd);
      if (series === undefined) byCommand.set(cmd, (series = seriesOf(cmd)));
      series.requests.add();
      series.durations.observe(ms);
    },
    counted: (events) => ({
      append: async (event) => {
        const appended = await events.append(event);
        if (!appended.duplicate) fired(event.tag);
        return appended;
      },
    }),
  };
}

/** Sources of a worker's metrics. */
export interface MeasuredParts {
  readonly bus: Bus;
  readonly receiver: RequestReceiver;
  readonly keys: HotState['keys'];
  readonly sessions: { count(): number };
  readonly masterKey: { readonly queued: number };
  /** Returns that wait for PostgreSQL. */
  readonly acks: { readonly stats: StoredAckStats } | undefined;
}

/** Exposes the figures of a worker for `/metrics`; they are read on request. */
export function exposeMetrics(metrics: Metrics, parts: MeasuredParts): void {
  const { bus, receiver, keys, sessions, masterKey, acks } = parts;
  const perClass = (label: string, read: 'hand' | 'running') => (): Sample[] => {
    const stats = receiver.stats()[read];
    return REQUEST_CLASSES.map((cls) => ({ labels: { [label]: cls }, value: stats[cls] }));
  };
  addConnectionMetrics(metrics, bus);
  metrics.gaugeOf(
    'salt_master_workers_queue_depth',
    'Requests in flight, under the name of Salt 3008.',
    perClass('pool', 'hand'),
  );
  metrics.gaugeOf('brine_worker_in_hand', 'Requests in flight.', perClass('class', 'hand'));
  metrics.gaugeOf('brine_worker_running', 'Of these, at work.', perClass('class', 'running'));
  metrics.counterOf(
    'brine_worker_unreadable_total',
    'Messages that no gateway sends.',
    () => receiver.stats().unreadable,
  );
  metrics.gaugeOf(
    'brine_worker_rsa_queued',
    'Operations that wait for the private key.',
    () => masterKey.queued,
  );
  metrics.gaugeOf('brine_keys', 'Keys of minions, by state.', () =>
    Object.entries(keys.counts()).map(([state, value]) => ({ labels: { state }, value })),
  );
  if (acks !== undefined) {
    metrics.gaugeOf('brine_worker_commit_waits', 'Returns that wait for PostgreSQL.', () => {
      return acks.stats.waiting;
    });
    const ways = ['told', 'asked', 'unanswered'] as const;
    metrics.counterOf('brine_worker_commits_total', 'Returns, by proof of their commit.', () =>
      ways.map((how) => ({ labels: { how }, value: acks.stats[how] })),
    );
  }
  metrics.gaugeOf('brine_sessions', 'Minions with a session key.', () => sessions.count());
}
