import { connectBus } from '@brine/bus';
import { runService } from '@brine/service';
import { Returner } from './returner.ts';

await runService({
  name: 'job-cache-returner',
  main: async ({ options, log, telemetry, metrics, signal, fail }) => {
    const databaseUrl = options.brine.postgres.url;
    const natsUrl = options.brine.nats.url;
    if (!databaseUrl) throw new Error('no PostgreSQL is given: set DATABASE_URL');
    if (!natsUrl) throw new Error('no NATS server is given: set NATS_URL');
    const bus = await connectBus({ url: natsUrl, name: 'job-cache-returner', signal });
    const keepMs = options.keepJobsSeconds * 1000;
    const ports = { bus, databaseUrl, keepMs, log, telemetry, metrics, signal };
    const returner = new Returner(ports);
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
