import { type Bus, REQUEST_CLASSES, type RequestClass } from '@brine/bus';
import type { RequestDelays, RequestSenderOptions } from '@brine/bus/rpc';
import type { Gateway } from '@brine/gateway';
import { noteContext } from '@brine/gateway';
import { addConnectionMetrics, type Sample, type ServiceContext } from '@brine/service';
import type { RequestServer } from '@brine/zmq';

type Metrics = ServiceContext['metrics'];

/** The sources of the gateway's metrics. */
export interface MeasuredParts {
  readonly gateway: Gateway;
  readonly server: RequestServer;
  readonly bus: Bus;
}

/** Figures of the gateway for `/metrics`, read on request. */
export function exposeMetrics(metrics: Metrics, { gateway, server, bus }: MeasuredParts): void {
  const gauge = (name: string, help: string, read: () => number | Sample[]): void =>
    metrics.gaugeOf(`brine_gateway_${name}`, help, read);
  const counter = (name: string, help: string, read: () => number | Sample[]): void =>
    metrics.counterOf(`brine_gateway_${name}_total`, help, read);
  const perClass = (read: 'inFlight' | 'waiting') => (): Sample[] => {
    const { classes } = gateway.status.workers;
    return REQUEST_CLASSES.map((cls) => ({ labels: { class: cls }, value: classes[cls][read] }));
  };
  addConnectionMetrics(metrics, bus);
  counter('received', 'Requests.', () => server.stats.received);
  counter('malformed', 'Messages that no Salt peer sends.', () => server.stats.malformed);
  gauge('connections', 'Connections to 4506.', () => server.stats.connections);
  counter('hung_up', 'Connections ended for what they sent.', () => server.stats.hungUp);
  counter('turned_away', 'Connections beyond the limit.', () => server.stats.turnedAway);
  gauge('in_flight', 'Requests in hand.', () => gateway.status.inFlight);
  gauge('class_in_hand', 'Requests that workers have, by class.', perClass('inFlight'));
  gauge('class_waiting', 'Requests that wait for a worker, by class.', perClass('waiting'));
  counter('answered', 'Requests answered.', () => gateway.status.answered);
  counter('unanswered', 'Requests left without an answer.', () => gateway.status.unanswered);
  counter('refused', 'Requests refused without a worker.', () => gateway.status.refused);
  gauge('auth_waiting', 'Log-ins that wait.', () => gateway.status.auth.waiting);
  counter('auth_silent', 'Log-ins left unanswered.', () => gateway.status.auth.silent);
  counter('auth_abandoned', 'Log-ins of minions gone.', () => gateway.status.auth.abandoned);
  gauge('held', 'Sealed requests to be delivered again.', () => gateway.status.sealed.kept);
  gauge('held_bytes', 'Bytes of these.', () => gateway.status.sealed.keptBytes);
  counter('redelivered', 'Sealed requests delivered again, with success.', () => {
    return gateway.status.sealed.redelivered;
  });
  counter('late', 'Sealed requests done after more than a minion waits.', () => {
    return gateway.status.sealed.late;
  });
  counter('lost', 'Sealed requests given up.', (): Sample[] => {
    return Object.entries(gateway.status.sealed.lostBy).map(([reason, value]) => {
      return { labels: { reason }, value };
    });
  });
  counter('stalled', 'Requests refused: two workers were lost to them.', () => {
    return gateway.status.workers.stalled;
  });
  counter('rested', 'Requests left unanswered: workers were lost to their askers.', () => {
    return gateway.status.workers.resting;
  });
  counter('publish_joined', 'Publishes joined.', () => gateway.status.publish.joined);
  gauge('workers', 'Workers that take requests.', () => gateway.status.workers.workers);
}

/** Measures outcomes and times. A value has its spans, if recorded, as an exemplar. */
export function measureOutcomes(
  metrics: Metrics,
  delays: RequestDelays,
): Exclude<RequestSenderOptions['onOutcome'], undefined> {
  const seconds = metrics.histogram(
    'brine_gateway_request_seconds',
    'Time from the gateway to a worker and back, by class and outcome.',
  );
  const of = (cls: RequestClass) => ({
    reply: seconds.of({ class: cls, outcome: 'reply' }),
    drop: seconds.of({ class: cls, outcome: 'drop' }),
    expired: seconds.of({ class: cls, outcome: 'expired' }),
  });
  const byClass = { auth: of('auth'), clear: of('clear'), aes: of('aes') };
  return (request, outcome, tookMs) => {
    if (request.class === 'aes' && outcome.kind === 'reply') delays.add(tookMs);
    byClass[request.class][outcome.kind].observe(tookMs / 1_000, () =>
      outcome.kind === 'reply' ? noteContext(outcome.trace, request.id) : undefined,
    );
  };
}
