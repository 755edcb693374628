import { randomBytes } from 'node:crypto';
import { Bucket, type Bus, connectBus, STREAMS } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import {
  announceSent,
  PublicationReader,
  PublicationWriter,
  readPublicationTimes,
  type Sent,
} from '@brine/bus/jobs';
import { answerRoll } from '@brine/bus/rpc';
import type { ConfigValue } from '@brine/config';
import { type PrivateKey, SecretBox } from '@brine/crypt';
import { AesEpochs } from '@brine/master-state';
import { loadOrCreateMasterKeys, masterKeyOptions } from '@brine/pki';
import {
  AgainRule,
  BucketHighWater,
  Burst,
  burstWindow,
  DurableSender,
  Publisher,
  READ_BACK_MS,
  Sealer,
  startWindow,
} from '@brine/publishing';
import {
  keepAliveMs,
  natsOf,
  Releasers,
  type RunningService,
  type ServiceContext,
} from '@brine/service';
import { boundPort } from '@brine/service/processes';
import { sleepUnless, type Trouble } from '@brine/tasks';
import { PublishServer, type PublishServerOptions, tcpEndpoint } from '@brine/zmq';
import { ConnectionReporter } from './adapters/connection-reporter.ts';
import { expiredReporter } from './adapters/expired-jobs.ts';
import { durableStoreOf, logInsOf, unreturnedBy } from './adapters/job-store.ts';
import { exposeMetrics } from './adapters/metrics.ts';

/** The streams that it reads or checks. */
const NEEDED_STREAMS = [STREAMS.events, STREAMS.publications, 'KV_brine_secrets'];
/** The times of messages before the start; they give the serial to continue from. */
const SEED_COUNT = 1_000;

/** The connections of a publisher to the outside; the simulation has others. */
export const PUBLISHER_EDGES = {
  connectBus,
  loadKeys: loadOrCreateMasterKeys,
  bind: (options: PublishServerOptions) => PublishServer.bind({ ...options, boundPort }),
};

/** Connects to NATS, reads the keys, binds 4505 and sends until closed. */
export async function startPublisher(
  context: ServiceContext,
  edges = PUBLISHER_EDGES,
): Promise<RunningService> {
  const { options, log } = context;
  const releasers = new Releasers();
  const bus = answerRoll(await edges.connectBus(natsOf(context, 'publisher')), context.report);
  releasers.add(() => bus.close());
  const { privateKey } = await keysOf(options, edges);
  const epochs = await epochsOf(bus, privateKey);
  releasers.add(() => epochs.close());
  const writer = new PublicationWriter(bus);
  const highWater = new BucketHighWater(new Bucket(bus, 'brine_secrets'));
  releasers.add(() => highWater.flush());
  const burst = new Burst(options.orderMasters ? 'syndics' : 'minions');
  const reporter = reporterOf(context, bus);
  const server: PublishServer = await edges.bind({
    ...socketOptions(options),
    ...reporter.hooks((now) => burst.connected(now, server.peers) && again.open(burstWindow(now))),
  });
  // Connected minions receive nothing once it is closed, so it closes after the other releases.
  releasers.add(() => server.close());
  reporter.start();
  releasers.add(() => reporter.close());
  const publisher = new Publisher({
    subscribers: server,
    epochs,
    publications: writer,
    highWater,
    sealer: new Sealer(privateKey, options),
    topics: options,
    onDurable: () => durable.wake(),
    ...receivers(context, bus),
  });
  // The minions below other masters are known only once those masters have received the job.
  const unreturned = options.orderMasters ? async () => undefined : unreturnedBy(bus);
  const again = new AgainRule(publisher.jobs, writer, unreturned);
  releasers.add(() => again.close());
  const durable = durableSender(bus, writer, (what, error) => log.warn({ err: error }, what));
  releasers.add(() => durable.close());
  const reader = await startReading(bus, publisher);
  releasers.add(() => reader.close());
  again.open(startWindow(Date.now()));
  // Perhaps few of its minions connect here, which would not count as a burst.
  epochs.onPublisherGone(() => again.open(startWindow(Date.now())));
  exposeMetrics(context.metrics, { publisher, again, durable, server, bus });
  const ending = new AbortController();
  releasers.add(() => ending.abort());
  publisher.run(reader, ending.signal).catch((error: unknown) => {
    // Stopped in the middle of a job, which another publisher sends too or reads back.
    if (!ending.signal.aborted) context.fail(error);
  });
  durable.run().catch(context.fail);
  log.info({ endpoint: server.endpoint, epoch: publisher.status.epoch }, 'publishing');
  return {
    ready: () => bus.status === 'connected' && reader.reading,
    status: () => ({
      endpoint: server.endpoint,
      bus: bus.status,
      peers: server.peers,
      socket: server.stats,
      ...publisher.status,
      again: again.stats,
      durable: durable.stats,
    }),
    // The minions of the process that ended receive nothing until they connect again.
    alone: () => again.open(startWindow(Date.now())),
    close: () => releasers.run(),
  };
}

function epochsOf(bus: Bus, key: PrivateKey): Promise<AesEpochs> {
  return AesEpochs.connect(bus, SecretBox.fromMasterKey(key, 'aes'), NEEDED_STREAMS);
}

function keysOf(options: ServiceContext['options'], { loadKeys }: typeof PUBLISHER_EDGES) {
  return loadKeys(options.pkiDir, options.keysize, masterKeyOptions(options));
}

/** Reports this publisher's connections under an id that is unique to this start. */
function reporterOf({ options, log }: ServiceContext, bus: Bus): ConnectionReporter {
  return new ConnectionReporter({
    bus,
    host: options.brine.host,
    by: `${process.pid}-${randomBytes(6).toString('hex')}`,
    onTrouble: (what, error) => log.warn({ err: error }, what),
  });
}

/** Receivers of a publisher's reports: traces, workers, the log and the record of sightings. */
function receivers({ telemetry, log }: ServiceContext, bus: Bus) {
  return {
    spans: telemetry,
    announceSent: (sent: Sent) => announceSent(bus, sent),
    onExpired: expiredReporter(new EventWriter(bus), (error, jid) =>
      log.warn({ err: error, jid }, 'that a job expired could not be kept'),
    ),
    onTrouble: (what: string, error: unknown) => log.warn({ err: error }, what),
  };
}

/** The address for subscribers, and the limits of their connections. */
function socketOptions(options: ServiceContext['options']) {
  return {
    endpoint: tcpEndpoint(options.interface, options.publishPort),
    furtherEndpoints: furtherPorts(options.brine.furtherPublishPorts).map((port) =>
      tcpEndpoint(options.interface, port),
    ),
    hwm: options.pubHwm,
    heartbeatIntervalMs: options.zmqHeartbeatIvl,
    heartbeatTimeoutMs: options.zmqHeartbeatTimeout,
    backlog: options.zmqBacklog,
    keepAliveMs: keepAliveMs(options),
    ...(options.maxOpenFiles > 0 ? { maxConnections: options.maxOpenFiles } : {}),
  };
}

async function startReading(bus: Bus, publisher: Publisher): Promise<PublicationReader> {
  const sinceMs = Date.now() - READ_BACK_MS;
  const times = () => readPublicationTimes(bus, { count: SEED_COUNT, sinceMs });
  const seq = await publisher.seed(times, sinceMs);
  return new PublicationReader(bus, { from: { seq } });
}

/** Throws at startup if a port is not a valid port number. */
function furtherPorts(configured: readonly ConfigValue[]): number[] {
  return configured.map((port) => {
    if (typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536)
      return port;
    throw new Error('brine.further_publish_ports takes a list of port numbers');
  });
}

function durableSender(
  bus: Bus,
  publications: PublicationWriter,
  onTrouble: Trouble,
): DurableSender {
  return new DurableSender({
    store: durableStoreOf(bus),
    publications,
    logIns: () => logInsOf(bus),
    now: () => Date.now(),
    wait: sleepUnless,
    onTrouble,
  });
}
