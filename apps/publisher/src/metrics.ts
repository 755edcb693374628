import type { ServiceContext } from '@brine/service';
import type { PublishServer } from '@brine/zmq';
import type { AgainRule } from './again-rule.ts';
import type { Publisher } from './publisher.ts';

/** Figures of the publisher for `/metrics`, read when they are asked for. */
export function exposeMetrics(
  metrics: ServiceContext['metrics'],
  publisher: Publisher,
  again: AgainRule,
  server: PublishServer,
): void {
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeOf(`brine_publisher_${name}`, help, read);
  gauge('peers', 'Connections to 4505.', () => server.peers);
  gauge('sent', 'Publications sent since the start.', () => publisher.status.sent);
  gauge('sent_again', 'Of these, repetitions.', () => publisher.status.sentAgain);
  gauge('expired', 'Publications too old to be sent.', () => publisher.status.expired);
  gauge('lost', 'Publications that could not be sent.', () => publisher.status.lost);
  gauge('epoch', 'Epoch of the AES key in use.', () => publisher.status.epoch);
  gauge(
    'clock_rotations',
    'New AES keys because of a clock.',
    () => publisher.status.clockRotations,
  );
  gauge('again_windows', 'Times subscribers had been deaf.', () => again.stats.windows);
}
