import type { ServiceContext } from '@brine/service';
import type { RequestServer } from '@brine/zmq';
import type { Gateway } from './gateway.ts';

/** Figures of the gateway for `/metrics`, read when they are asked for. */
export function exposeMetrics(
  metrics: ServiceContext['metrics'],
  gateway: Gateway,
  server: RequestServer,
): void {
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeOf(`brine_gateway_${name}`, help, read);
  gauge('received', 'Requests since the start.', () => server.stats.received);
  gauge('malformed', 'Messages that no Salt peer sends.', () => server.stats.malformed);
  gauge('in_flight', 'Requests in hand.', () => gateway.status.inFlight);
  gauge('answered', 'Requests answered since the start.', () => gateway.status.answered);
  gauge('unanswered', 'Requests left without an answer.', () => gateway.status.unanswered);
  gauge('refused', 'Requests refused without a worker.', () => gateway.status.refused);
  gauge('auth_waiting', 'Log-ins that wait.', () => gateway.status.auth.waiting);
  gauge('auth_silent', 'Log-ins left unanswered.', () => gateway.status.auth.silent);
  gauge('kept', 'Sealed requests to be delivered again.', () => gateway.status.sealed.kept);
  gauge('lost', 'Sealed requests given up.', () => gateway.status.sealed.lost);
  gauge('publish_joined', 'Publishes joined.', () => gateway.status.publish.joined);
  gauge('workers', 'Workers that take requests.', () => gateway.status.workers.workers);
}
