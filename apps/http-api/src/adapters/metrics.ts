import type { RequestSender } from '@brine/bus/rpc';
import type { HttpListener } from '@brine/http';
import type { Netapi } from '@brine/netapi';
import type { Sample, ServiceContext } from '@brine/service';

/** The sources of the metrics. */
export interface MeasuredParts {
  readonly netapi: Netapi;
  readonly sender: RequestSender;
  readonly listeners: readonly HttpListener[];
}

/** Figures of the HTTP API for `/metrics`, read on request. */
export function exposeMetrics(
  metrics: ServiceContext['metrics'],
  { netapi, sender, listeners }: MeasuredParts,
): void {
  const { counts, followers, room } = netapi;
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeOf(`brine_http_${name}`, help, read);
  const counter = (name: string, help: string, read: () => number | Sample[]): void =>
    metrics.counterOf(`brine_http_${name}_total`, help, read);
  counter('requests', 'Answered requests, by status.', () =>
    [...counts.byStatus].map(([status, value]) => ({ labels: { status: String(status) }, value })),
  );
  gauge('in_flight', 'Requests in hand.', () => counts.current);
  gauge('connections', 'Open connections.', () =>
    listeners.reduce((sum, { connections }) => sum + connections, 0),
  );
  gauge('followers', 'Followers of events.', () => followers.stats.followers);
  counter('dropped', 'Events that slow followers did not get.', () => followers.stats.dropped);
  counter('closed', 'Followers closed because they did not read.', () => followers.stats.closed);
  counter('refused', 'Calls refused: too many in hand.', () => {
    return room.stats.refused + sender.stats().refusedByLimit;
  });
}
