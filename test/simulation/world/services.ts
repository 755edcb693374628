import { trimStreams } from '@brine/bus';
import { startFeeds } from '@brine/host';
import type { RunningService } from '@brine/service';
import { Returner } from '../../../apps/job-cache-returner/src/start.ts';
import { startPublisher } from '../../../apps/publisher/src/start.ts';
import { startGateway } from '../../../apps/req-gateway/src/start.ts';
import { startRunnerPool } from '../../../apps/runner-pool/src/start.ts';
import { startWorker } from '../../../apps/worker-pool/src/start.ts';
import type { Start, Surroundings } from './cluster.ts';

/** The services of a master as their own code starts them, on simulated edges. */
export const gateway: Start = ({ context, connectBus, cluster, onEnd }) =>
  startGateway(context, {
    connectBus,
    bind: async () => {
      const server = await cluster.request.bind();
      onEnd(() => void server.close());
      return server;
    },
  });

export const worker: Start = ({ context, connectBus, loadKeys, masterKey }) =>
  startWorker(context, { connectBus, loadKeys, masterKey });

export const runner: Start = ({ context, connectBus, loadKeys, masterKey }) =>
  startRunnerPool(context, { connectBus, loadKeys, masterKey });

export const publisher: Start = ({ context, connectBus, loadKeys, cluster, onEnd }) =>
  startPublisher(context, {
    connectBus,
    loadKeys,
    bind: async (options) => {
      const server = await cluster.publish.bind(options);
      onEnd(() => void server.close());
      return server;
    },
  });

export const returner: Start = async (around) => {
  const { context, connectBus } = around;
  const bus = await connectBus({ url: '', name: 'job-cache-returner' });
  const store = around.connectStore();
  const running = new Returner({
    bus,
    databaseUrl: 'postgres://sim/none',
    keepMs: 0,
    log: context.log,
    telemetry: context.telemetry,
    metrics: context.metrics,
    signal: context.signal,
    connect: () => Promise.resolve(store.cache),
  });
  running.finished.catch(context.fail);
  return {
    ready: () => running.ready,
    status: () => running.status,
    close: async () => {
      await running.close();
      await bus.close();
    },
  };
};

export const eventBus: Start = async (around: Surroundings): Promise<RunningService> => {
  const { context, connectBus, cluster } = around;
  const bus = await connectBus({ url: '', name: 'event-bus' });
  // As housekeeping.ts, which looks after files too.
  const purging = setInterval(() => {
    trimStreams(bus, { keepMs: cluster.retention.keepMs }).catch((error: unknown) => {
      cluster.trace.aside('event-bus', `not purged: ${String(error)}`);
    });
  }, cluster.retention.everyMs);
  const feeds = startFeeds({
    bus,
    files: cluster.files.files,
    readers: cluster.events.readers,
    host: context.options.brine.host,
    sinceMs: Date.now(),
    maxEventSize: 1_048_576,
    spans: context.telemetry,
    jobFiles: true,
    returnFiles: false,
    endTimes: false,
    onTrouble: (text) => cluster.trace.aside('event-bus', text),
    onFailure: context.fail,
  });
  return {
    ready: () => feeds.reading,
    status: () => feeds.status(),
    close: async () => {
      clearInterval(purging);
      await feeds.close();
      await bus.close();
    },
  };
};
