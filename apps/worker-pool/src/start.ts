import { randomBytes } from 'node:crypto';
import { Bucket, type Bus, connectBus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { hearSent } from '@brine/bus/jobs';
import {
  type Answer,
  type Answering,
  answerRoll,
  type IncomingRequest,
  RequestReceiver,
  serveStalled,
} from '@brine/bus/rpc';
import { HandedCalls, RunOffers, serveAdmissions } from '@brine/cluster-work';
import { AuditSeal, cryptoInUse, SecretBox } from '@brine/crypt';
import {
  type ClusterPresence,
  ClusterRuns,
  openClusterPresence,
  openHostPorts,
  openOwnStates,
  type OpenReactor,
  openReactor,
  WorkerFunctions,
} from '@brine/duties';
import { openTraces, type WorkerTraces } from '@brine/job-traces';
import { type Admission, Answerer, type MasterPorts } from '@brine/master';
import {
  answerLocally,
  exposeMetrics,
  faultLog,
  heedFilesWords,
  type LocalRequest,
  type MasterKeyService,
  type MasterStats,
  openPresence,
  openPython,
  openRequestMetrics,
  openServedFiles,
  portsOf,
  type RequestPresence,
  ThreadedMasterKey,
} from '@brine/master-ports';
import {
  BucketBanks,
  type HotState,
  openAudit,
  openHotState,
  serveRequestIds,
  StoredAcks,
  StreamEvents,
} from '@brine/master-state';
import { loadOrCreateMasterKeys, masterKeyOptions, type MasterKeys } from '@brine/pki';
import { CachedPillars, ThreadedPillars } from '@brine/rendering';
import { batchSettings } from '@brine/runners';
import { type LastRuns, natsOf, type RunningService, type ServiceContext } from '@brine/service';
import { nowMs } from '@brine/telemetry';
import { openOwnWork, type OwnWork } from './adapters/own-work.ts';

/**
 * Requests answered at a time, by class. Log-ins cost RSA work and wait for each other; returns
 * only wait for the stream, so many of them make one batch.
 */
const CONCURRENCY = { auth: 16, clear: 64, aes: 512 } as const;

/** How long a request waits while the copy of the hot state is read again, ms. */
const STATE_WAIT_MS = 2000;

/** What a worker reaches outside of this process; the simulation has others. */
export const WORKER_EDGES = {
  connectBus,
  loadKeys: loadOrCreateMasterKeys,
  masterKey: (keys: MasterKeys): MasterKeyService => new ThreadedMasterKey(keys),
};

/** Starts one worker: hot state, then keys, then requests. */
export async function startWorker(
  context: ServiceContext,
  edges = WORKER_EDGES,
): Promise<RunningService> {
  const { options, telemetry, log } = context;
  const bus = answerRoll(await edges.connectBus(natsOf(context, 'worker-pool')), context.told);
  const masterKeys = await keysOf(context, edges);
  const pem = masterKeys.privateKey.pem;
  const state = await openHotState(bus, pem, options.publishSession);
  const masterKey = edges.masterKey(masterKeys);
  const workerId = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const traces = openTraces(telemetry, options, workerId);
  const acks = options.brine.ack === 'store' ? new StoredAcks(bus) : undefined;
  const events = new StreamEvents(new EventWriter(bus), acks);
  const { requests, stats } = openRequestMetrics(context, events);
  const auditSeal = AuditSeal.fromMasterKey(pem);
  const { host } = options.brine;
  const fault = (text: string, err?: unknown): void => log.error({ err }, text);
  const onTrouble = (text: string, err: unknown): void => log.warn({ err }, text);
  const audit = openAudit(bus, auditSeal, { host, count: requests.count, onTrouble });
  const python = openPython(context);
  const pillarThreads = new ThreadedPillars(options, (text) => log.error(text), python);
  const answer = (body: Uint8Array, sent: LocalRequest): Promise<Uint8Array> =>
    answerLocally(answerer, body, { ...sent, host }, traces.own);
  const ownKey = (): string => state.userKeys.of(options.user)[0] ?? '';
  const later = { ports: (): MasterPorts => ports, runs: (): ClusterRuns => runs };
  const handed = new HandedCalls({
    ...{ bus, processId: workerId, checkBatch: batchSettings, count: requests.count },
    runs: new RunOffers(new Bucket(bus, 'brine_runs'), SecretBox.fromMasterKey(pem, 'runs')),
  });
  const functions: WorkerFunctions = new WorkerFunctions({
    ...{ bus, options, answer, auditSeal, ownKey, python },
    ...later,
    onTrouble: fault,
    pillarTop: (asked) => pillarThreads.top(asked),
    hostPorts: () => ({ ...hostPorts, ownStates }),
    reactor: () => reactor.admin,
    schedule: () => ownWork.schedule,
    banks: banksOf(state, options),
  });
  const { files, fileRuns, closeFiles } = await openServedFiles(context, requests.counted(events));
  const ownStates = openOwnStates({ options, files, python, log });
  const hostPorts = openHostPorts({ bus, options, workerId, files, pillars: pillarThreads });
  const stopHeeding = heedFilesWords({ bus, files, host, workerId, onTrouble });
  const pillars = new CachedPillars(pillarThreads, state.pillars, options, fault);
  const presence = openPresence(bus, context.metrics);
  const clusterPresence = openClusterPresence({ bus, context, state, ports: () => ports });
  const ports: MasterPorts = portsOf(context, {
    ...{ bus, state, pem, masterKey, requests, events, audit, files },
    functions: handed,
    ...{ pillars, pillarThreads, traces, python, presence },
  });
  const answerer: Answerer = new Answerer(ports, faultLog(log));
  const ownWork: OwnWork = openOwnWork({
    ...{ bus, pem, context, workerId, python, local: functions, ...later },
  });
  const runs: ClusterRuns = new ClusterRuns({
    ...{ bus, pem, workerId, options, onTrouble: fault, traceOwn: traces.own },
    ...workOf(functions, () => ports),
    tasks: [...clusterPresence.tasks, ...ownWork.endless],
  });
  const reactor: OpenReactor = openReactor({
    ...{ context, bus, pem, state, files, python, ownStates, runs, answer, ownKey },
    local: functions,
    ports: () => ports,
  });
  const receiver = new RequestReceiver(bus, { workerId, host, concurrency: CONCURRENCY });
  receiver.serve(answering(answerer, state, traces, stats));
  ownWork.start();
  tellOf(context, { bus, receiver, masterKey, acks, ...state });
  return running({
    ...{ bus, state, masterKey, receiver, runs, acks, traces, audit },
    stopHearing: [hearSent(bus, traces.sent), stopHeeding],
    asides: [
      ...answeringGateways(bus, state, audit),
      serveAdmissions(bus, (kind, fun) => admission(functions, runs, kind, fun)),
      handed,
    ],
    ...{ closeFiles, fileRuns, pillarThreads, ownStates, python, reactor, presence },
    ...{ clusterPresence, ownWork },
  });
}

/** What this worker shows of itself, and by what it seals. */
function tellOf(
  { metrics, log }: ServiceContext,
  parts: Parameters<typeof exposeMetrics>[1],
): void {
  exposeMetrics(metrics, parts);
  log.info(cryptoInUse(), 'what seals');
}

/** The keys of this master; they are made at its first start. */
function keysOf({ options }: ServiceContext, edges: typeof WORKER_EDGES): Promise<MasterKeys> {
  const { pkiDir, keysize } = options;
  return edges.loadKeys(pkiDir, keysize, masterKeyOptions(options));
}

/** What long work does its own work with. */
function workOf(functions: WorkerFunctions, ports: () => MasterPorts) {
  return {
    ports,
    local: functions,
    listen: functions.listen.bind(functions),
    contextOf: functions.contextOf.bind(functions),
  };
}

function banksOf(state: HotState, { pillarRoots }: ServiceContext['options']): BucketBanks {
  return new BucketBanks({
    ...state,
    pillarEnvs: Object.keys(pillarRoots),
    now: () => Date.now(),
  });
}

/** What a started worker is made of, in the order in which it ends. */
interface RunningParts {
  readonly receiver: RequestReceiver;
  readonly runs: ClusterRuns;
  readonly acks: StoredAcks | undefined;
  readonly stopHearing: readonly (() => void)[];
  readonly traces: WorkerTraces;
  readonly audit: ReturnType<typeof openAudit>;
  readonly asides: readonly Answering[];
  readonly state: HotState;
  readonly masterKey: MasterKeyService;
  readonly closeFiles: () => Promise<void>;
  readonly fileRuns: LastRuns;
  readonly pillarThreads: ThreadedPillars;
  readonly ownStates: ReturnType<typeof openOwnStates>;
  readonly python: ReturnType<typeof openPython>;
  readonly reactor: OpenReactor;
  readonly presence: RequestPresence;
  readonly clusterPresence: ClusterPresence;
  readonly ownWork: OwnWork;
  readonly bus: Bus;
}

/** When files and pillars were last fetched, by any worker of this host for pillars. */
function fetchesOf(fileRuns: LastRuns, pillars: Pick<ThreadedPillars, 'gitFetchedMs'>): LastRuns {
  const fetchedMs = pillars.gitFetchedMs();
  if (fetchedMs !== undefined) fileRuns.ran('git pillars', fetchedMs);
  return fileRuns;
}

function running(parts: RunningParts): RunningService {
  const { receiver, runs, acks, stopHearing, traces, audit, asides, state } = parts;
  const { masterKey, closeFiles, pillarThreads, ownStates, python } = parts;
  const { reactor, presence, clusterPresence, ownWork, fileRuns, bus } = parts;
  return {
    ready: () => bus.status === 'connected' && state.ready(),
    status: () => ({
      minions: state.keys.counts(),
      sessions: state.sessions.count(),
      rsaQueued: masterKey.queued,
      requests: receiver.stats(),
      runs: runs.stats(),
      reactor: reactor.status(),
      presence: clusterPresence.status(),
      files: fetchesOf(fileRuns, pillarThreads).status(),
      ...ownWork.status(),
      ...cryptoInUse(),
    }),
    // A pillar that is being made has its time.
    leave: async () => {
      const handOver = (): Promise<void> => runs.handOver();
      await Promise.all([receiver.drain(), ownWork.leave(handOver), reactor.leave()]);
    },
    close: async () => {
      await receiver.drain();
      // Orchestrations of reactions end when their runs are handed on.
      await ownWork.close();
      await Promise.all([runs.close(), reactor.close()]);
      presence.close();
      acks?.close();
      for (const stop of stopHearing) stop();
      traces.close();
      await audit.close();
      await Promise.all(asides.map((serving) => serving.close()));
      state.close();
      await masterKey.close();
      await closeFiles();
      await pillarThreads.close();
      await ownStates.close();
      python?.close();
      await bus.close();
    },
  };
}

/** What gateways ask besides: the ids of requests, and that a refusal is put on record. */
function answeringGateways(
  bus: Bus,
  state: HotState,
  audit: ReturnType<typeof openAudit>,
): readonly Answering[] {
  return [
    ...serveRequestIds(bus, state.requests),
    serveStalled(bus, (told) => {
      audit.recordRefusal({ kind: 'request', outcome: 'stalled', ...told });
    }),
  ];
}

/** Whether a call may begin in this process. */
async function admission(
  functions: WorkerFunctions,
  runs: ClusterRuns,
  ...[kind, fun]: Parameters<WorkerFunctions['knows']>
): Promise<Admission> {
  if (!(await functions.knows(kind, fun))) return 'unknown';
  return runs.isFull ? 'full' : 'yes';
}

/** What a request is answered with. */
function answering(
  answerer: Answerer,
  state: HotState,
  traces: WorkerTraces,
  stats: MasterStats | undefined,
): (request: IncomingRequest) => Promise<Answer> {
  return async (request) => {
    // While the copy of the hot state is read again there is no sound answer here.
    if (!state.ready() && !(await state.readyWithin(STATE_WAIT_MS))) return { kind: 'refuse' };
    const startMs = nowMs();
    const answer = await answerer.answer(request);
    if (answer.kind === 'drop') return answer;
    // Other commands are told where they are run.
    if (answer.about?.kind === 'login') stats?.ran('_auth', nowMs() - startMs);
    const trace = traces.note(request, answer, startMs);
    return { kind: 'reply', body: answer.body, ...(trace === undefined ? {} : { trace }) };
  };
}
