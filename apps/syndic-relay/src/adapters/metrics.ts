import type { Bus } from '@brine/bus';
import { addConnectionMetrics, type ServiceContext } from '@brine/service';
import type { Downward } from './downward.ts';
import type { UpperLink } from './upper-link.ts';
import type { Upward } from './upward.ts';

/** The sources of the relay's metrics. */
export interface MeasuredRelay {
  readonly bus: Pick<Bus, 'status' | 'reconnects' | 'asides'>;
  readonly links: readonly UpperLink[];
  readonly ways: readonly Upward[];
  readonly downward: Downward;
}

const UPWARD = {
  returns: 'Returns that masters above have.',
  events: 'Other events that masters above have.',
  retries: 'Requests to masters above that were sent again.',
  lost: 'Events given up: too old, refused, or not to be read.',
  stale: 'Events, not returns, too old to forward.',
} as const;

const DOWNWARD = {
  published: 'Jobs of masters above that were published here.',
  nobody: 'Jobs of masters above that no minion here matches.',
  refused: 'Jobs of masters above that this master refused.',
  lost: 'Jobs of masters above that no worker took in time.',
} as const;

/** Figures of the relay for `/metrics`, read on request. */
export function exposeMetrics(metrics: ServiceContext['metrics'], relay: MeasuredRelay): void {
  const { bus, links, ways, downward } = relay;
  addConnectionMetrics(metrics, bus);
  metrics.gaugeOf('brine_syndic_masters', 'Masters above that are configured.', () => links.length);
  metrics.gaugeOf('brine_syndic_masters_heard', 'Of these, those whose jobs are received.', () =>
    links.reduce((sum, { status }) => sum + Number(status.isSubscribed), 0),
  );
  metrics.gaugeOf('brine_syndic_ways_blocked', 'Ways up whose last request found no way.', () =>
    ways.reduce((sum, { status }) => sum + Number(!status.flows), 0),
  );
  for (const [name, help] of Object.entries(UPWARD)) {
    const read = (): number =>
      ways.reduce((sum, { status }) => sum + status[name as keyof typeof UPWARD], 0);
    metrics.counterOf(`brine_syndic_${name}_total`, help, read);
  }
  for (const [name, help] of Object.entries(DOWNWARD)) {
    const read = (): number => downward.stats[name as keyof typeof DOWNWARD];
    metrics.counterOf(`brine_syndic_jobs_${name}_total`, help, read);
  }
}
