import { join } from 'node:path';
import type { ServiceName } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { asOwnerOfNow } from '@brine/files';
import { runningNatsUrl } from '@brine/nats-server';
import { runningPostgresUrl } from '@brine/postgres-server';
import { livingSupervisor, readState, type SupervisorState } from '@brine/service/processes';

/*
 * Reads files that a master has written to its state directory. Root reads them as the owner of the
 * directory.
 */

/** The state file of the supervisor of this host. */
export function supervisorState({ brine }: MasterOptions): SupervisorState | undefined {
  return asOwnerOfNow(brine.stateDir, () => readState(brine.stateDir));
}

/** The supervisor that serves this state directory now. */
export function runningMaster(options: MasterOptions): number | undefined {
  return livingSupervisor(supervisorState(options));
}

/** The NATS that a master of this host runs for itself; undefined where none runs. */
export function ownNatsUrl({ brine }: MasterOptions, service: ServiceName): string | undefined {
  const dir = join(brine.stateDir, 'nats');
  return asOwnerOfNow(dir, () => runningNatsUrl(dir, service));
}

/** As {@link ownNatsUrl}, its PostgreSQL. */
export function ownPostgresUrl({ brine }: MasterOptions): string | undefined {
  const dir = join(brine.stateDir, 'postgres');
  return asOwnerOfNow(dir, () => runningPostgresUrl(dir));
}
