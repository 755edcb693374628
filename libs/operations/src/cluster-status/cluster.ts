import { callRoll } from '@brine/bus/rpc';
import type { JobRecords } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { isSystemError } from '@brine/files';
import { connectOwnBus } from '@brine/master-host/servers';
import type { ServiceState } from '@brine/service/processes';
import { errorText } from '@brine/tasks';
import { type Cluster, clusterOf, plainOf } from '../roll/roll.ts';

/**
 * Asks all services of the cluster through the master's request port. If no worker answers, it asks
 * them through NATS, if this user may.
 * @param options undefined: there is no NATS that could be asked
 * @throws Error with both reasons; EACCES if this user may read nothing of the master
 */
export async function askCluster(
  options: MasterOptions | undefined,
  jobs: Pick<JobRecords, 'roll'>,
): Promise<Cluster> {
  let byMaster: string;
  try {
    return clusterOf(plainOf(await jobs.roll()));
  } catch (error) {
    byMaster = firstSentence(error);
    if (options === undefined) throw new Error(byMaster, { cause: error });
  }
  try {
    const bus = await connectOwnBus(options);
    try {
      return clusterOf(await callRoll(bus));
    } finally {
      await bus.close();
    }
  } catch (error) {
    if (isSystemError(error, 'EACCES')) throw error;
    throw new Error(`by the request port: ${byMaster}; by NATS: ${firstSentence(error)}`);
  }
}

/** The first sentence of an error: some of Salt's texts are a paragraph. */
export function firstSentence(error: unknown): string {
  const text = errorText(error);
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0].slice(0, -1) ?? text;
}

/** Services of this host's supervisor that did not answer: hung, or cut off. */
export function silentHere<T extends Pick<ServiceState, 'pid' | 'state'>>(
  cluster: Cluster,
  here: readonly T[],
  host: string,
): readonly T[] {
  const answered = new Set(
    cluster.services.filter((one) => one.host === host).map(({ pid }) => pid),
  );
  return here.filter(
    ({ pid, state }) => state === 'ready' && pid !== undefined && !answered.has(pid),
  );
}

/**
 * Services of this host that are silent in two calls. One call is not enough: a process may be
 * replaced between the call and reading the supervisor's file.
 */
export async function silentTwice<T extends Pick<ServiceState, 'pid' | 'state'>>(
  ask: () => Promise<Cluster>,
  here: () => readonly T[] | Promise<readonly T[]>,
  host: string,
): Promise<{ readonly cluster: Cluster; readonly silent: readonly T[] }> {
  const first = await ask();
  const before = silentHere(first, await here(), host);
  if (before.length === 0) return { cluster: first, silent: before };
  const cluster = await ask();
  const again = silentHere(cluster, await here(), host);
  return { cluster, silent: again.filter(({ pid }) => before.some((one) => one.pid === pid)) };
}
