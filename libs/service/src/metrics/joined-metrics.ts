import { getText } from '../get-text.ts';
import { type HealthServer, startHealth } from '../health.ts';
import type { ServiceState } from '../processes/child-service.ts';
import { CONTENT_TYPES, type ExpositionFormat, joinExpositions } from './exposition.ts';
import { Metrics } from './metrics.ts';

/** A service that does not answer within this time is left out of the scrape. */
const READING = { timeoutMs: 5_000, maxBytes: 32 * 1024 * 1024 };

/** The options of {@link startJoinedMetrics}. */
export interface JoinedMetricsOptions {
  readonly services: () => readonly ServiceState[];
  readonly ready: () => boolean;
  /** Address of the health endpoints that are read. */
  readonly healthHost: string;
  /** Where to listen; port 0 is any free one. */
  readonly host: string;
  readonly port: number;
  readonly version: string;
}

/**
 * Serves one endpoint for all services of a host. `/metrics` joins the metrics of all of them, each
 * number with the labels `service` and `replica`, so that one scrape target is enough. `/healthz`,
 * `/readyz` and `/status` are about the whole host. Rejects if the port is taken.
 */
export async function startJoinedMetrics(options: JoinedMetricsOptions): Promise<HealthServer> {
  const { services, ready, healthHost, host, port } = options;
  const own = ownMetrics(options);
  const text = async (format: ExpositionFormat): Promise<string> => {
    const limits = { ...READING, accept: CONTENT_TYPES[format] };
    const texts = await Promise.all(
      services().map(async ({ healthPort }) => {
        if (healthPort === undefined) return '';
        const address = { host: healthHost, port: healthPort };
        const answer = await getText(address, '/metrics', limits);
        return answer?.code === 200 ? answer.body : '';
      }),
    );
    return joinExpositions([await own.text(format), ...texts], format);
  };
  const source = { ready, status: () => ({ services: services() }), metrics: text };
  return startHealth(source, { host, port });
}

/** Metrics that only the supervisor knows. */
function ownMetrics({ services, version }: JoinedMetricsOptions): Metrics {
  const own = new Metrics();
  const each = (read: (state: ServiceState) => number) => () =>
    services().map((state) => {
      const service = state.name.replace(/-\d+$/, '');
      return { labels: { service, replica: state.name }, value: read(state) };
    });
  own.gaugeOf(
    'brine_service_up',
    '1 while the service process is ready.',
    each(({ state }) => Number(state === 'ready')),
  );
  own.counterOf(
    'brine_service_restarts_total',
    'Times a service process ended and was started again.',
    each(({ restarts }) => restarts),
  );
  own.gaugeOf('brine_build_info', 'Always 1; the label is the release.', () => [
    { labels: { version }, value: 1 },
  ]);
  return own;
}
