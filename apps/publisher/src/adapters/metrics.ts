import type { Bus } from '@brine/bus';
import type { AgainRule, DurableSender, Publisher } from '@brine/publishing';
import { addConnectionMetrics, type ServiceContext } from '@brine/service';
import type { PublishServer } from '@brine/zmq';

/** The sources of the publisher's metrics. */
export interface MeasuredParts {
  readonly publisher: Publisher;
  readonly again: AgainRule;
  readonly durable: DurableSender;
  readonly server: PublishServer;
  readonly bus: Bus;
}

/** Figures of the publisher for `/metrics`, read on request. */
export function exposeMetrics(metrics: ServiceContext['metrics'], parts: MeasuredParts): void {
  const { publisher, again, durable, server, bus } = parts;
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeOf(`brine_publisher_${name}`, help, read);
  const counter = (name: string, help: string, read: () => number): void =>
    metrics.counterOf(`brine_publisher_${name}_total`, help, read);
  addConnectionMetrics(metrics, bus);
  gauge('peers', 'Connections to 4505.', () => server.peers);
  metrics.gaugeOf(
    'salt_master_connected_minions_count',
    'Connections of minions to 4505, under the name of Salt 3008.',
    () => server.peers,
  );
  counter('missed', 'Messages that slow subscribers missed.', () => server.stats.dropped);
  counter('hung_up', 'Connections ended for what they did.', () => server.stats.hungUp);
  counter('silent', 'Connections ended without a heartbeat.', () => server.stats.silent);
  counter('turned_away', 'Connections beyond the limit.', () => server.stats.turnedAway);
  counter('sent', 'Publications sent.', () => publisher.status.sent);
  counter('sent_again', 'Of these, repetitions.', () => publisher.status.sentAgain);
  counter('expired', 'Publications too old to be sent.', () => publisher.status.expired);
  counter('lost', 'Publications that could not be sent.', () => publisher.status.lost);
  gauge('epoch', 'Epoch of the AES key in use.', () => publisher.status.epoch);
  counter(
    'clock_rotations',
    'New AES keys because of a clock.',
    () => publisher.status.clockRotations,
  );
  gauge('durable_open', 'Durable jobs that wait for minions.', () => durable.stats.open);
  counter('durable_asked', 'Minions asked about durable jobs.', () => durable.stats.asked);
  counter('durable_sent', 'Minions sent a durable job again.', () => durable.stats.sentAgain);
  counter('durable_failed', 'Looks at durable jobs that failed.', () => durable.stats.failed);
  counter('again_windows', 'Times subscribers had missed publications.', () => again.stats.windows);
}
