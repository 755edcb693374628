import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { type ClaimedHost, claimHost } from '@brine/service/processes';

/** Services without a supervisor stop within stop_deadline plus this, ms. */
const LEFTOVER_MORE_MS = 3_000;
/** Sockets of local tools, below sock_dir (Salt: salt/utils/event.py). */
const EVENT_SOCKETS = ['master_event_pub.ipc', 'master_event_pull.ipc'];

/**
 * Claims the resources that only one master of a host may use: ports, event sockets, pid file,
 * state.
 * @throws HostTakenError
 */
export function claimMaster(options: MasterOptions): Promise<ClaimedHost> {
  const { interface: host, publishPort, retPort, pidfile, sockDir, brine } = options;
  const served = [publishPort, retPort, ...brine.furtherPublishPorts].map((port) => ({
    host,
    port,
  }));
  const health = Object.values(brine.healthPorts).map((port) => ({ host: brine.healthHost, port }));
  return claimHost({
    ports: [...served, ...health].flatMap(({ host: at, port }) =>
      typeof port === 'number' && port > 0 ? [{ host: at, port }] : [],
    ),
    sockets: EVENT_SOCKETS.map((name) => join(sockDir, name)),
    pidfile,
    stateDir: brine.stateDir,
    leftoverMs: brine.stopDeadline * 1000 + LEFTOVER_MORE_MS,
  });
}
