import type { Bus } from '@brine/bus';
import type { FleetCounts, JobCache } from '@brine/job-cache';
import { addConnectionMetrics, type Metrics, type TracedJob } from '@brine/service';
import { fleetFamilies } from './fleet-metrics.ts';

/** The sources of the store's metrics. */
export interface MeasuredParts {
  readonly bus: Bus;
  readonly counts: FleetCounts;
  /** Undefined until PostgreSQL is connected. */
  readonly cache: () => JobCache | undefined;
  readonly away: () => boolean;
  readonly maxMinionLabels: number;
  readonly traced: TracedJob;
}

/** The metrics of the store, and those of the whole master while this process reports them. */
export function exposeMetrics(metrics: Metrics, parts: MeasuredParts): void {
  const { bus, counts, cache, away, maxMinionLabels, traced } = parts;
  addConnectionMetrics(metrics, bus);
  metrics.gaugeOf('brine_store_holding', '1 while PostgreSQL takes nothing.', () => Number(away()));
  metrics.gaugeOf(
    'brine_store_tells_fleet',
    '1 where this process reports the metrics of jobs and returns of the whole master.',
    () => Number(counts.isReporter),
  );
  metrics.gaugeOf('brine_postgres_pool_connections', 'Connections, by what they do.', () => {
    const { idle = 0, busy = 0 } = cache()?.connections ?? {};
    return [
      { labels: { state: 'idle' }, value: idle },
      { labels: { state: 'busy' }, value: busy },
    ];
  });
  metrics.gaugeOf(
    'brine_postgres_pool_waiting',
    'Calls that wait for a connection.',
    () => cache()?.connections.waiting ?? 0,
  );
  metrics.families(async () => {
    // Without the schema there is nothing to read.
    if (cache() === undefined) return [];
    const read = await counts.read();
    if (read === undefined) return [];
    const example = (fun: string, bucket: number) => cache()?.durationExamples.of(fun, bucket);
    return fleetFamilies(read, { maxMinionLabels, traced, example });
  });
}
