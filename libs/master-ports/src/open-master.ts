import { randomBytes } from 'node:crypto';
import type { ServiceName } from '@brine/bus';
import { Bucket, type Bus, connectBus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { onSent } from '@brine/bus/jobs';
import { answerRoll } from '@brine/bus/rpc';
import { HandedCalls, RunOffers } from '@brine/cluster-work';
import { AuditSeal, SecretBox } from '@brine/crypt';
import type { FileServer } from '@brine/fileserver';
import { openTraces, type WorkerTraces } from '@brine/job-traces';
import { Answerer, type MasterPorts } from '@brine/master';
import {
  type HotState,
  openAudit,
  openHotState,
  StoredAcks,
  StreamEvents,
} from '@brine/master-state';
import { loadOrCreateMasterKeys, masterKeyOptions, type MasterKeys } from '@brine/pki';
import type { PythonCalls } from '@brine/python-host';
import { CachedPillars, ThreadedPillars } from '@brine/rendering';
import { batchSettings } from '@brine/runners';
import { type LastRuns, natsOf, Releasers, type ServiceContext } from '@brine/service';
import { faultLog } from './fault-log.ts';
import { followFileActs } from './files/file-acts.ts';
import { openServedFiles } from './files/fileserver-events.ts';
import { type MasterKeyService, ThreadedMasterKey } from './keys/master-key.ts';
import { type MasterStats, openRequestMetrics } from './metrics/master-stats.ts';
import { answerLocally, type LocalRequest } from './own-requests.ts';
import { portsOf } from './ports-of.ts';
import { openPresence } from './presence/open-presence.ts';

/** Connections of a process to the outside; the simulation replaces them. */
export const MASTER_EDGES = {
  connectBus,
  loadKeys: loadOrCreateMasterKeys,
  masterKey: (keys: MasterKeys): MasterKeyService => new ThreadedMasterKey(keys),
};

/** As {@link MASTER_EDGES}. */
export type MasterEdges = typeof MASTER_EDGES;

export interface OpenMasterParts {
  /** Service whose NATS user this process has. */
  readonly service: ServiceName;
  readonly edges: MasterEdges;
  /** Python modules, in this process or in another one on the bus. */
  readonly pythonOf: (bus: Bus) => PythonCalls | undefined;
}

/** The rules of the master with their ports, and their resources. */
export interface OpenedMaster {
  /** Unique per start of a process: letters, digits, `-`. */
  readonly processId: string;
  readonly bus: Bus;
  /** The master's private key, which seals the hot state. */
  readonly pem: string;
  readonly auditSeal: AuditSeal;
  readonly state: HotState;
  readonly masterKey: MasterKeyService;
  readonly traces: WorkerTraces;
  readonly acks: StoredAcks | undefined;
  readonly stats: MasterStats | undefined;
  readonly audit: ReturnType<typeof openAudit>;
  readonly python: PythonCalls | undefined;
  readonly files: FileServer;
  readonly pillarThreads: ThreadedPillars;
  readonly ports: MasterPorts;
  readonly answerer: Answerer;
  /** Answers a request of this process itself, as if a gateway of its host had brought it. */
  readonly answer: (body: Uint8Array, sent: LocalRequest) => Promise<Uint8Array>;
  /** The key of the master's own user. */
  readonly ownKey: () => string;
  /** Times of the last fetches of files and pillars; for pillars, by any process of this host. */
  readonly fetches: () => LastRuns;
  readonly releasers: Releasers;
}

/** Opens the hot state, then the ports, in a process that answers requests or makes them. */
export async function openMaster(
  context: ServiceContext,
  { service, edges, pythonOf }: OpenMasterParts,
): Promise<OpenedMaster> {
  const { options, telemetry, log, metrics } = context;
  const { host } = options.brine;
  const fault = (text: string, err?: unknown): void => log.error({ err }, text);
  const onTrouble = (text: string, err: unknown): void => log.warn({ err }, text);
  const releasers = new Releasers();

  const bus = answerRoll(await edges.connectBus(natsOf(context, service)), context.report);
  releasers.add(() => bus.close());
  const { pkiDir, keysize } = options;
  const keys = await edges.loadKeys(pkiDir, keysize, masterKeyOptions(options));
  const { pem } = keys.privateKey;
  const state = await openHotState(bus, pem, options.publishSession);
  releasers.add(() => state.close());
  const masterKey = edges.masterKey(keys);
  releasers.add(() => masterKey.close());

  const processId = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const acks = options.brine.ack === 'store' ? new StoredAcks(bus) : undefined;
  const events = new StreamEvents(new EventWriter(bus), acks);
  const { requests, stats } = openRequestMetrics(context, events);
  const auditSeal = AuditSeal.fromMasterKey(pem);
  const audit = openAudit(bus, auditSeal, { host, count: requests.count, onTrouble });
  releasers.add(() => audit.close());
  const traces = openTraces(telemetry, options, processId);
  releasers.add(() => traces.close());
  releasers.add(onSent(bus, traces.sent));
  releasers.add(() => acks?.close());

  const python = pythonOf(bus);
  const pillarThreads = new ThreadedPillars(options, (text) => log.error(text), python);
  releasers.add(() => pillarThreads.close());
  const pillars = new CachedPillars(pillarThreads, state.pillars, options, fault);
  const { files, fileRuns, closeFiles } = await openServedFiles(context, requests.counted(events));
  releasers.add(closeFiles);
  releasers.add(followFileActs({ bus, files, host, processId, onTrouble }));
  const presence = openPresence(bus, metrics);
  releasers.add(() => presence.close());
  const functions = new HandedCalls({
    bus,
    processId,
    checkBatch: batchSettings,
    count: requests.count,
    runs: new RunOffers(new Bucket(bus, 'brine_runs'), SecretBox.fromMasterKey(pem, 'runs')),
  });
  releasers.add(() => functions.close());

  const ports = portsOf(context, {
    bus,
    state,
    pem,
    masterKey,
    requests,
    events,
    audit,
    files,
    functions,
    pillars,
    pillarThreads,
    traces,
    python,
    presence,
  });
  const answerer = new Answerer(ports, faultLog(log));
  return {
    processId,
    bus,
    pem,
    auditSeal,
    state,
    masterKey,
    traces,
    acks,
    stats,
    audit,
    python,
    files,
    pillarThreads,
    ports,
    answerer,
    answer: (body, sent) => answerLocally(answerer, body, { ...sent, host }, traces.own),
    ownKey: () => state.userKeys.of(options.user)[0] ?? '',
    fetches: () => {
      const fetchedMs = pillarThreads.gitFetchedMs();
      if (fetchedMs !== undefined) fileRuns.ran('git pillars', fetchedMs);
      return fileRuns;
    },
    releasers,
  };
}
