import { connectBus } from '@brine/bus';
import { asideTeller, runService, tracedJobs } from '@brine/service';
import { MAX_MINION_LABELS, Returner } from './returner.ts';

/** Minions with metrics of their own, by `brine.metrics.per_minion`; there is always a bound. */
const MINION_LABELS = { never: 0, auto: MAX_MINION_LABELS, always: 5_000 } as const;

await runService({
  name: 'job-cache-returner',
  main: async ({ options, log, telemetry, metrics, signal, fail }) => {
    const databaseUrl = options.brine.postgres.url;
    const natsUrl = options.brine.nats.url;
    if (!databaseUrl) throw new Error('no PostgreSQL is given: set DATABASE_URL');
    if (!natsUrl) throw new Error('no NATS server is given: set NATS_URL');
    const { nats } = options.brine;
    const onAside = asideTeller(log);
    const bus = await connectBus({
      ...nats,
      url: natsUrl,
      name: 'job-cache-returner',
      signal,
      onAside,
    });
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
    returner.finished.catch(fail);
    return {
      close: async () => {
        await returner.close();
        await bus.close();
      },
      ready: () => bus.status === 'connected' && returner.ready,
      status: () => ({ bus: bus.status, ...returner.status }),
    };
  },
});
