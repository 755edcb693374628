import { type JetStreamFacts, jetStreamFacts } from '@brine/bus/rpc';
import type { JobRecords } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { type DatabaseFacts, databaseFacts } from '@brine/job-cache';
import { supervisorState } from '@brine/master-host';
import { untilAnswers } from '@brine/master-host/request-port';
import { connectOwnBus, ownDatabaseUrl } from '@brine/master-host/servers';
import {
  isListenedOn,
  livingSupervisor,
  type SupervisorState,
  whoListens,
} from '@brine/service/processes';
import { askCluster, firstSentence, silentTwice } from '../../cluster-status/cluster.ts';
import { type Cluster, plainOf } from '../../roll/roll.ts';
import { type BackendSeen, backendsOf, reachAll } from './backends.ts';
import { type DiskSeen, seeDisks } from './disks.ts';

/** A request port that does not answer a ping within this does not serve, ms. */
const PING_MS = 5_000;

/** The reason why something could not be examined. */
export interface Unseen {
  readonly unseen: string;
}

/** A port of the master on this host. */
export interface PortSeen {
  readonly port: number;
  readonly service: string;
  readonly isListenedOn: boolean;
  /** The process, as `4242 (salt-master)`; undefined if this user may not see it. */
  readonly by: string | undefined;
  /** True if the request port answered a ping; undefined if it was not asked. */
  readonly answers?: boolean;
}

/** The running services and servers at one moment. */
export interface Facts {
  /** True if a supervisor of this configuration runs on this host. */
  readonly runs: boolean;
  readonly disks: readonly DiskSeen[];
  readonly ports: readonly PortSeen[];
  readonly cluster: Cluster | Unseen;
  /** Running services of this host that did not answer. */
  readonly silent: readonly string[];
  readonly streams: JetStreamFacts | Unseen;
  readonly database: (DatabaseFacts & { readonly aheadMs?: number }) | Unseen;
  readonly backends: readonly BackendSeen[];
}

/** Narrows a result to one that was seen. */
export function isSeen<T extends object>(one: T | Unseen): one is T {
  return !('unseen' in one);
}

/** Examines disks, ports, services, streams, PostgreSQL and backends. Changes nothing. */
export async function lookAtFacts(
  options: MasterOptions,
  jobs: Pick<JobRecords, 'roll' | 'database'>,
): Promise<Facts> {
  const state = supervisorState(options);
  const runs = livingSupervisor(state) !== undefined;
  const here = (): SupervisorState['services'] =>
    runs ? (supervisorState(options)?.services ?? []) : [];
  const ask = (): Promise<Cluster> => askCluster(options, jobs);
  const [disks, ports, asked, streams, database, backends] = await Promise.all([
    seeDisks(options),
    seePorts(options, runs),
    seen(silentTwice(ask, here, options.brine.host)),
    seen(seeStreams(options)),
    seen(seeDatabase(options, jobs)),
    reachAll(backendsOf(options)),
  ]);
  const [cluster, silent] = isSeen(asked)
    ? [asked.cluster, asked.silent.map(({ name }) => name)]
    : [asked, []];
  return { runs, disks, ports, cluster, silent, streams, database, backends };
}

async function seen<T extends object>(looking: Promise<T>): Promise<T | Unseen> {
  try {
    return await looking;
  } catch (error) {
    return { unseen: firstSentence(error) };
  }
}

async function seePorts(options: MasterOptions, runs: boolean): Promise<PortSeen[]> {
  const { publishPort, retPort, brine } = options;
  const at = (port: number, service: string): PortSeen => ({
    port,
    service,
    isListenedOn: isListenedOn(port),
    by: whoListens(port),
  });
  const request = at(retPort, 'req-gateway');
  const answers =
    runs && request.isListenedOn
      ? await untilAnswers(options, AbortSignal.timeout(PING_MS))
      : undefined;
  return [
    at(publishPort, 'publisher'),
    ...brine.furtherPublishPorts.map((port) => at(Number(port), 'publisher')),
    { ...request, ...(answers === undefined ? {} : { answers }) },
  ].filter(({ port }) => port > 0);
}

async function seeStreams(options: MasterOptions): Promise<JetStreamFacts> {
  const bus = await connectOwnBus(options);
  try {
    return await jetStreamFacts(bus);
  } finally {
    await bus.close();
  }
}

/** Asks PostgreSQL by its URL, or through the master if this host has none. */
async function seeDatabase(
  options: MasterOptions,
  jobs: Pick<JobRecords, 'database'>,
): Promise<DatabaseFacts & { readonly aheadMs?: number }> {
  let direct: string;
  try {
    const url = ownDatabaseUrl(options);
    const facts = await databaseFacts(url);
    const { nowMs } = facts.server;
    return typeof nowMs === 'number' ? { ...facts, aheadMs: nowMs - Date.now() } : facts;
  } catch (error) {
    direct = firstSentence(error);
  }
  try {
    // The job cache's own answer has this form.
    return plainOf(await jobs.database()) as DatabaseFacts;
  } catch (error) {
    throw new Error(`${direct}; by the master: ${firstSentence(error)}`);
  }
}
