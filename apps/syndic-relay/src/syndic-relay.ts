import { type Bus, connectBus } from '@brine/bus';
import type { RunningService, ServiceContext } from '@brine/service';

/** Salt's default, which nobody means (salt/config DEFAULT_MASTER_OPTS). */
const UNSET = new Set(['', 'masterofmasters']);

/** What the relay needs of the outside; the bus itself outside of tests. */
export interface RelayPorts {
  connect(url: string, signal: AbortSignal): Promise<Pick<Bus, 'status' | 'close'>>;
}

const PORTS: RelayPorts = {
  connect: (url, signal) => connectBus({ url, name: 'syndic-relay', signal }),
};

/**
 * Starts the link to a master above. This version has none: without `syndic_master` the service is
 * idle and ready, as there is nothing to do; with it the service says so and is never ready, as it
 * does not do what was asked for.
 */
export async function startSyndicRelay(
  context: Pick<ServiceContext, 'options' | 'log' | 'signal'>,
  ports: RelayPorts = PORTS,
): Promise<RunningService> {
  const { options, log, signal } = context;
  const asked = !UNSET.has(options.syndicMaster);
  const url = options.brine.nats.url;
  if (url === undefined) throw new Error('NATS_URL or brine.nats.url must name a NATS server');
  const bus = await ports.connect(url, signal);
  if (asked) {
    log.error(
      { syndicMaster: options.syndicMaster },
      'syndic_master is set, but this version can not be a syndic: use salt-syndic beside it',
    );
  } else log.info('no syndic_master: nothing to relay');
  return {
    close: () => bus.close(),
    ready: () => !asked && bus.status === 'connected',
    status: () => ({ idle: true, syndicMaster: asked ? options.syndicMaster : null }),
  };
}
