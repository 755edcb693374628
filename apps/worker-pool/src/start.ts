import { randomBytes } from 'node:crypto';
import { type Bus, connectBus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { hearSent } from '@brine/bus/jobs';
import {
  type Answer,
  type Answering,
  type IncomingRequest,
  RequestReceiver,
  serveStalled,
} from '@brine/bus/rpc';
import { AuditSeal, cryptoInUse } from '@brine/crypt';
import { openTraces, type WorkerTraces } from '@brine/job-traces';
import { Answerer, type MasterPorts } from '@brine/master';
import {
  BucketBanks,
  type HotState,
  openAudit,
  openHotState,
  serveRequestIds,
  StoredAcks,
  StreamEvents,
} from '@brine/master-state';
import { ThreadedPillars } from '@brine/pillar-compiler';
import { CachedPillars } from '@brine/pillar-compiler';
import { loadOrCreateMasterKeys, masterKeyOptions, type MasterKeys } from '@brine/pki';
import { natsOf, type RunningService, type ServiceContext } from '@brine/service';
import { nowMs } from '@brine/telemetry';
import { faultLog } from './adapters/fault-log.ts';
import { openFiles } from './adapters/files.ts';
import { answerHere, WorkerFunctions } from './adapters/functions.ts';
import { openHostPorts } from './adapters/host-ports.ts';
import { type MasterKeyService, ThreadedMasterKey } from './adapters/master-key.ts';
import { exposeMetrics, requestMetrics } from './adapters/metrics.ts';
import { openOwnStates } from './adapters/own-states.ts';
import { WorkerRuns } from './adapters/owned-runs.ts';
import { portsOf } from './adapters/ports-of.ts';
import { openPython } from './adapters/python.ts';

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
  const bus = await edges.connectBus(natsOf(context, 'worker-pool'));
  const { pkiDir, keysize } = options;
  const masterKeys = await edges.loadKeys(pkiDir, keysize, masterKeyOptions(options));
  const pem = masterKeys.privateKey.pem;
  const state = await openHotState(bus, pem, options.publishSession);
  const masterKey = edges.masterKey(masterKeys);
  const requests = requestMetrics(context.metrics);
  const workerId = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const traces = openTraces(telemetry, options, workerId);
  const acks = options.brine.ack === 'store' ? new StoredAcks(bus) : undefined;
  const events = new StreamEvents(new EventWriter(bus), acks);
  const auditSeal = AuditSeal.fromMasterKey(pem);
  const { host } = options.brine;
  const fault = (text: string, err?: unknown): void => log.error({ err }, text);
  const onTrouble = (text: string, err: unknown): void => log.warn({ err }, text);
  const audit = openAudit(bus, auditSeal, { host, count: requests.count, onTrouble });
  const python = openPython(context);
  const pillarThreads = new ThreadedPillars(options, (text) => log.error(text), python);
  const functions: WorkerFunctions = new WorkerFunctions({
    bus,
    options,
    answer: (body, sent) => answerHere(answerer, body, { ...sent, host }, traces.own),
    auditSeal,
    ownKey: () => state.userKeys.of(options.user)[0] ?? '',
    onTrouble: fault,
    ports: () => ports,
    pillarTop: (asked) => pillarThreads.top(asked),
    runs: () => runs,
    hostPorts: () => ({ ...hostPorts, ownStates }),
    python,
    banks: new BucketBanks({
      ...state,
      pillarEnvs: Object.keys(options.pillarRoots),
      now: () => Date.now(),
    }),
  });
  const files = await openFiles(options, (fields, text) => log.warn(fields, text));
  const ownStates = openOwnStates({ options, files, python, log });
  const hostPorts = openHostPorts({
    ...{ bus, options, workerId, files, onTrouble },
    pillars: pillarThreads,
  });
  const pillars = new CachedPillars(pillarThreads, state.pillars, options, fault);
  const ports: MasterPorts = portsOf(context, {
    ...{ bus, state, pem, masterKey, requests, events, audit, functions, files },
    ...{ pillars, pillarThreads, traces, python },
  });
  const answerer: Answerer = new Answerer(ports, faultLog(log));
  const runs: WorkerRuns = new WorkerRuns({
    ...{ bus, pem, workerId, options, onTrouble: fault, traceOwn: traces.own },
    ports: () => ports,
    listen: (kinds, onEvent, sinceMs) => functions.listen(kinds, onEvent, sinceMs),
    contextOf: (call) => functions.contextOf(call),
  });
  const receiver = new RequestReceiver(bus, { workerId, host, concurrency: CONCURRENCY });
  receiver.serve(answering(answerer, state, traces));
  exposeMetrics(context.metrics, { bus, receiver, masterKey, acks, ...state });
  const asides = answeringGateways(bus, state, audit);
  const stopHearing = hearSent(bus, traces.sent);
  log.info(cryptoInUse(), 'what seals');
  return running({
    ...{ bus, state, masterKey, receiver, runs, acks, stopHearing, hostPorts, traces, audit },
    ...{ asides, files, pillarThreads, ownStates, python },
  });
}

/** What a started worker is made of, in the order in which it ends. */
interface RunningParts {
  readonly receiver: RequestReceiver;
  readonly runs: WorkerRuns;
  readonly acks: StoredAcks | undefined;
  readonly stopHearing: () => void;
  readonly hostPorts: ReturnType<typeof openHostPorts>;
  readonly traces: WorkerTraces;
  readonly audit: ReturnType<typeof openAudit>;
  readonly asides: readonly Answering[];
  readonly state: HotState;
  readonly masterKey: MasterKeyService;
  readonly files: Awaited<ReturnType<typeof openFiles>>;
  readonly pillarThreads: ThreadedPillars;
  readonly ownStates: ReturnType<typeof openOwnStates>;
  readonly python: ReturnType<typeof openPython>;
  readonly bus: Bus;
}

function running(parts: RunningParts): RunningService {
  const { receiver, runs, acks, stopHearing, hostPorts, traces, audit, asides, state } = parts;
  const { masterKey, files, pillarThreads, ownStates, python, bus } = parts;
  return {
    ready: () => bus.status === 'connected' && state.ready(),
    status: () => ({
      minions: state.keys.counts(),
      sessions: state.sessions.count(),
      rsaQueued: masterKey.queued,
      requests: receiver.stats(),
      runs: runs.stats(),
      ...cryptoInUse(),
    }),
    // A pillar that is being made has its time.
    leave: async () => {
      await Promise.all([receiver.drain(), runs.handOver()]);
    },
    close: async () => {
      await receiver.drain();
      await runs.close();
      acks?.close();
      stopHearing();
      hostPorts.close();
      traces.close();
      await audit.close();
      await Promise.all(asides.map((serving) => serving.close()));
      state.close();
      await masterKey.close();
      await files.close();
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

/** What a request is answered with. */
function answering(
  answerer: Answerer,
  state: HotState,
  traces: WorkerTraces,
): (request: IncomingRequest) => Promise<Answer> {
  return async (request) => {
    // While the copy of the hot state is read again there is no sound answer.
    if (!state.ready() && !(await state.readyWithin(STATE_WAIT_MS))) return { kind: 'drop' };
    const startMs = nowMs();
    const answer = await answerer.answer(request);
    if (answer.kind === 'drop') return answer;
    const trace = traces.note(request, answer, startMs);
    return { kind: 'reply', body: answer.body, ...(trace === undefined ? {} : { trace }) };
  };
}
