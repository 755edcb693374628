import { DURATION_BOUNDS, type DurationExample, type FleetCount } from '@brine/job-cache';
import type { Exemplar, Family, HistogramSample, Sample, TracedJob } from '@brine/service';

/** The options of the families. */
export interface FleetMetricsOptions {
  /** Above this number minions have no series of their own. */
  readonly maxMinionLabels: number;
  readonly traced: TracedJob;
  readonly example: (fun: string, bucket: number) => DurationExample | undefined;
}

type Numbers = readonly FleetCount[];

/**
 * The metrics of salt-exporter and of Salt 3008 about jobs and returns, from the counts in
 * PostgreSQL (names and labels: docs/metrics.md).
 */
export function fleetFamilies(all: Numbers, options: FleetMetricsOptions): readonly Family[] {
  const of = (metric: FleetCount['metric']): Numbers => all.filter((one) => one.metric === metric);
  const [jobs, returns, scheduled] = [of('jobs'), of('returns'), of('scheduled')];
  const minions = new Set(of('responses').map(({ labels }) => labels[0]));
  // Beyond the limit the store counts under `other`, which is one more label.
  const folded = minions.size > options.maxMinionLabels;
  const responses = folded ? of('responses').map(withoutMinion) : of('responses');
  const status = folded ? [] : of('function_status');
  return [
    counter('salt_new_job_total', 'Jobs published.', samples(jobs, ['function', 'state'])),
    counter(
      'salt_expected_responses_total',
      'Minions that published jobs were meant for.',
      samples(of('targeted'), ['function', 'state']),
    ),
    counter(
      'salt_function_responses_total',
      'Returns of published jobs, and of what minions ran by themselves but for schedules.',
      samples(returns, ['function', 'state', 'success']),
    ),
    counter(
      'salt_scheduled_job_return_total',
      'Returns of scheduled jobs.',
      samples(scheduled, ['function', 'state', 'success']),
    ),
    counter('salt_responses_total', 'All returns.', samples(responses, ['minion', 'success'])),
    gauge(
      'salt_function_status',
      'Whether the last highstate of a minion went well: 1 yes, 0 no.',
      samples(status, ['minion', 'function', 'state']),
    ),
    gauge(
      'salt_job_duration_seconds',
      'Time that the last run of these states took.',
      samples(of('state_duration'), ['function', 'state']),
    ),
    counter('salt_jobs_published_total', 'Jobs published.', samples(jobs, ['fun'])),
    counter(
      'salt_jobs_completed_total',
      'Returns, under the name of Salt 3008.',
      samples(
        [...returns, ...scheduled].map(({ labels: [fun = '', , success = ''], ...rest }) => {
          return { ...rest, labels: [fun, success] };
        }),
        ['fun', 'success'],
      ),
    ),
    durations(of('duration'), of('duration_sum'), options),
    gauge(
      'brine_store_quarantine_rows',
      'Rows in brine.quarantine.',
      samples(of('quarantine'), []),
    ),
    gauge('brine_store_orphans', 'Jobs with returns but no row yet.', samples(of('orphans'), [])),
  ];
}

/** Sums of numbers by their first labels. */
function samples(numbers: Numbers, names: readonly string[]): readonly Sample[] {
  const sums = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const { labels: values, value } of numbers) {
    const labels = Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
    const key = names.map((_, at) => values[at]).join('\0');
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { labels, value });
    else known.value += value;
  }
  return [...sums.values()];
}

function durations(counts: Numbers, sums: Numbers, options: FleetMetricsOptions): Family {
  const found = new Map<string, number[]>();
  for (const { labels, value } of counts) {
    const [fun = '', bucket = ''] = labels;
    const buckets = found.get(fun) ?? Array.from({ length: DURATION_BOUNDS.length + 1 }, () => 0);
    buckets[Number(bucket)] = value;
    found.set(fun, buckets);
  }
  const sumOf = new Map(sums.map(({ labels: [fun = ''], value }) => [fun, value]));
  return {
    name: 'salt_job_duration_milliseconds',
    type: 'histogram',
    help: 'Time from the publication of a job to the return of a minion.',
    bounds: DURATION_BOUNDS,
    samples: Array.from(found, ([fun, buckets]): HistogramSample => {
      const exemplars = buckets.map((_, at) => exemplarOf(options.example(fun, at), options));
      return { labels: { fun }, counts: buckets, sum: sumOf.get(fun) ?? 0, exemplars };
    }),
  };
}

function exemplarOf(
  example: DurationExample | undefined,
  { traced }: FleetMetricsOptions,
): Exemplar | undefined {
  const trace = traced(example?.jid);
  if (example === undefined || trace === undefined) return undefined;
  return { ...trace, value: example.ms, atMs: example.at };
}

function withoutMinion(count: FleetCount): FleetCount {
  return { ...count, labels: ['other', count.labels[1] ?? ''] };
}

function counter(name: string, help: string, read: readonly Sample[]): Family {
  return { name, type: 'counter', help, samples: read };
}

function gauge(name: string, help: string, read: readonly Sample[]): Family {
  return { name, type: 'gauge', help, samples: read };
}
