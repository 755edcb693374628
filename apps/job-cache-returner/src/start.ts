import { connectBus } from '@brine/bus';
import {
  natsOf,
  postgresUrlOf,
  type RunningService,
  type ServiceContext,
  tracedJobs,
} from '@brine/service';
import { MAX_MINION_LABELS, Returner } from './returner.ts';

/** Minions with metrics of their own, by `brine.metrics.per_minion`; there is always a bound. */
const MINION_LABELS = { never: 0, auto: MAX_MINION_LABELS, always: 5_000 } as const;

/** Connects to NATS and PostgreSQL and stores what jobs and returns come, until closed. */
export async function startReturner(context: ServiceContext): Promise<RunningService> {
  const { options, log, telemetry, metrics, signal } = context;
  const databaseUrl = postgresUrlOf(context);
  const bus = await connectBus(natsOf(context, 'job-cache-returner'));
  const keepMs = options.keepJobsSeconds * 1000;
  const returner = new Returner({
    bus,
    databaseUrl,
    keepMs,
    // Salt: salt/utils/job.py store_job returns before it stores what came.
    keepReturns: options.jobCache && options.extJobCache === '',
    archive: options.archiveJobs,
    log,
    telemetry,
    metrics,
    signal,
    maxMinionLabels: MINION_LABELS[options.brine.metrics.perMinion],
    tellCommits: options.brine.ack === 'store',
    traced: tracedJobs(options),
  });
  returner.finished.catch(context.fail);
  return {
    close: async () => {
      await returner.close();
      await bus.close();
    },
    ready: () => bus.status === 'connected' && returner.ready,
    status: () => ({ bus: bus.status, ...returner.status }),
  };
}
