import { randomBytes } from 'node:crypto';
import { connectBus } from '@brine/bus';
import { answerRoll, RequestDelays, RequestSender, type Stall } from '@brine/bus/rpc';
import { Gateway } from '@brine/gateway';
import { RequestIds } from '@brine/master-state';
import {
  keepAliveMs,
  natsOf,
  Releasers,
  type RunningService,
  type ServiceContext,
} from '@brine/service';
import { boundPort } from '@brine/service/processes';
import { RequestServer, type RequestServerOptions, tcpEndpoint } from '@brine/zmq';
import { exposeMetrics, measureOutcomes } from './adapters/metrics.ts';
import { logOutages, LOST_TEXTS } from './adapters/outage-log.ts';
import { logStall } from './adapters/stall-log.ts';

// Envelope and ids around a load of the largest size.
const ENVELOPE_SLACK_BYTES = 65_536;
// Idle connections are closed; requests in hand are mostly answered within this.
const CLOSE_MS = 3_000;
// A successor gives more time. Runner and wheel requests take up to 28 s. Returns that no worker
// could keep are delivered again for up to 120 s.
const LEAVE_MS = 30_000;
const LEAVE_KEPT_MS = 120_000;

/** The connections of a gateway to the outside; the simulation has others. */
export const GATEWAY_EDGES = {
  connectBus,
  bind: (options: RequestServerOptions) => RequestServer.bind({ ...options, boundPort }),
};

/** Connects to NATS, binds 4506 and serves until closed. */
export async function startGateway(
  context: ServiceContext,
  edges = GATEWAY_EDGES,
): Promise<RunningService> {
  const { options, telemetry, log } = context;
  const { host, maxRequestSize } = options.brine;
  const releasers = new Releasers();
  const bus = answerRoll(await edges.connectBus(natsOf(context, 'req-gateway')), context.report);
  releasers.add(() => bus.close());
  const onStalled = (stall: Stall): void => {
    logStall(bus, log, host, stall);
  };
  const delays = new RequestDelays(bus);
  const onOutcome = measureOutcomes(context.metrics, delays);
  const sender = new RequestSender(bus, { host, onStalled, onOutcome });
  releasers.add(() => sender.close());
  const server = await edges.bind({
    endpoint: tcpEndpoint(options.interface, options.retPort),
    backlog: options.zmqBacklog,
    keepAliveMs: keepAliveMs(options),
    ...(options.maxOpenFiles > 0 ? { maxConnections: options.maxOpenFiles } : {}),
    maxMessageBytes: maxRequestSize + ENVELOPE_SLACK_BYTES,
  });
  releasers.add(() => server.close());
  const incarnation = randomBytes(9).toString('hex');
  const gateway = new Gateway({
    peers: server,
    workers: sender,
    memory: new RequestIds(bus, sender.id),
    spans: telemetry,
    minimumAuthVersion: options.minimumAuthVersion,
    incarnation,
    onLost: (reason) => log.error({ reason, ...gateway.status.sealed }, LOST_TEXTS[reason]),
  });
  logOutages(bus, log, () => ({
    waiting: sender.stats().classes.aes.waiting,
    kept: gateway.status.sealed.kept,
  }));
  exposeMetrics(context.metrics, { gateway, server, bus });
  gateway.run().catch(context.fail);
  releasers.add(() => gateway.drain());
  releasers.add(() => server.leave(CLOSE_MS));
  // A gateway that stops announces no delays, so this closes first, though it was opened early.
  releasers.add(() => delays.close());
  log.info({ endpoint: server.endpoint }, 'serving requests');
  return {
    ready: () => bus.status === 'connected',
    status: () => ({
      endpoint: server.endpoint,
      bus: bus.status,
      socket: server.stats,
      ...gateway.status,
    }),
    leave: async () => {
      await server.leave(LEAVE_MS);
      await gateway.delivered(LEAVE_KEPT_MS);
    },
    close: () => releasers.run(),
  };
}
