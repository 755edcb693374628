import { randomBytes } from 'node:crypto';
import { Bucket, type Bus, connectBus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { hearSent, PublicationWriter } from '@brine/bus/jobs';
import { RequestReceiver, serveStalled } from '@brine/bus/rpc';
import { ReceivedFiles } from '@brine/cachedir';
import { AuditSeal, SecretBox } from '@brine/crypt';
import { JidMaker } from '@brine/job';
import { Answerer, type MasterPorts } from '@brine/master';
import { AesEpochs, forgetMinion, serveRequestIds } from '@brine/master-state';
import { EpochAesKeys } from '@brine/master-state';
import { KeptPillars } from '@brine/master-state';
import { BucketMines } from '@brine/master-state';
import { BucketMinionData } from '@brine/master-state';
import { BucketMinionKeys } from '@brine/master-state';
import { BucketOnce } from '@brine/master-state';
import { BucketSessionKeys } from '@brine/master-state';
import { BucketTokens } from '@brine/master-state';
import { BucketSyndics } from '@brine/master-state';
import { BucketUserKeys } from '@brine/master-state';
import { loadOrCreateMasterKeys, masterKeyOptions, type MasterKeys } from '@brine/pki';
import { asideTeller, type RunningService, type ServiceContext } from '@brine/service';
import { nowMs } from '@brine/telemetry';
import { mapOf } from '@brine/wire';
import { openAudit } from './adapters/audit.ts';
import { SigningFiles } from './adapters/autosign.ts';
import { faultLog } from './adapters/fault-log.ts';
import { openFiles } from './adapters/files.ts';
import { answerHere, WorkerRunners } from './adapters/functions.ts';
import { JobCacheQueries } from './adapters/job-queries.ts';
import { loginsOf } from './adapters/logins.ts';
import { type MasterKeyService, ThreadedMasterKey } from './adapters/master-key.ts';
import { exposeMetrics, requestMetrics } from './adapters/metrics.ts';
import { peerArguments } from './adapters/peer-arguments.ts';
import { CachedPillars } from './pillars/cached-pillars.ts';
import { MasterTops } from './pillars/external-tops.ts';
import { ThreadedPillars } from './pillars/pillars.ts';
import { StreamEvents, StreamPublications } from './adapters/publications.ts';
import { refusedWorkLog } from './adapters/refused-work-log.ts';
import { masterRules } from './adapters/rules.ts';
import { runnerMaster } from './adapters/runner-master.ts';
import { StoredAcks } from './adapters/stored-acks.ts';
import { strangerAllowance } from './adapters/stranger-allowance.ts';
import { openTraces } from './traces/traces.ts';

/**
 * Requests answered at a time, by class. Log-ins cost RSA work and wait for each other; returns
 * only wait for the stream, so many of them make one batch.
 */
const CONCURRENCY = { auth: 16, clear: 64, aes: 512 } as const;

/** How long a request waits for a copy of the hot state that is being read anew. */
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
  const url = options.brine.nats.url;
  if (url === undefined) throw new Error('brine.nats.url is not set');
  const { nats } = options.brine;
  const { signal } = context;
  const onAside = asideTeller(context.log);
  const bus = await edges.connectBus({ ...nats, url, name: 'worker-pool', signal, onAside });
  const masterKeys = await edges.loadKeys(
    options.pkiDir,
    options.keysize,
    masterKeyOptions(options),
  );
  const pem = masterKeys.privateKey.pem;
  const state = await openHotState(bus, pem, options.publishSession);
  const masterKey = edges.masterKey(masterKeys);
  const jids = new JidMaker();
  const requests = requestMetrics(context.metrics);
  const workerId = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const traces = openTraces(telemetry, options, workerId);
  const acks = options.brine.ack === 'store' ? new StoredAcks(bus) : undefined;
  const events = new StreamEvents(new EventWriter(bus), acks);
  const auditSeal = AuditSeal.fromMasterKey(pem);
  const audit = openAudit(bus, auditSeal, {
    host: options.brine.host,
    count: requests.count,
    onTrouble: (text, err) => log.warn({ err }, text),
  });
  const pillarThreads = new ThreadedPillars(options, (text) => log.error(text));
  const functions = new WorkerRunners({
    bus,
    options,
    answer: (body) => answerHere(answerer, body, options.brine.host),
    auditSeal,
    ownKey: () => state.userKeys.of(options.user)[0] ?? '',
    onTrouble: (text, err) => log.error({ err }, text),
    master: runnerMaster(pillarThreads, state.minionData),
  });
  const files = await openFiles(options, (fields, text) => log.warn(fields, text));
  const pillars = new CachedPillars(pillarThreads, state.pillars, options, (text, err) =>
    log.error({ err }, text),
  );
  const ports: MasterPorts = {
    rules: masterRules(options),
    keys: state.keys,
    sessions: state.sessions,
    syndics: state.syndics,
    aes: new EpochAesKeys(state.epochs),
    masterKey,
    events: requests.counted(events),
    publications: new StreamPublications({
      bus,
      writer: new PublicationWriter(bus),
      requests: state.requests,
      telemetry,
      events,
    }),
    minionData: state.minionData,
    userKeys: state.userKeys,
    autosign: new SigningFiles(options),
    jobs: new JobCacheQueries(bus),
    pillars,
    logins: loginsOf(options, requests.count, (text, err) => log.error({ err }, text)),
    tokens: new BucketTokens(
      new Bucket(bus, 'brine_tokens'),
      SecretBox.fromMasterKey(pem, 'token'),
    ),
    functions,
    files,
    received: new ReceivedFiles(options.cachedir),
    tops: new MasterTops(
      options.masterTops,
      async (path, id) => {
        const grains = (await state.minionData.fetch(id))?.grains ?? mapOf({ id });
        return pillarThreads.classTops(path, mapOf({ id, grains }));
      },
      (fields, text) => log.warn(fields, text),
    ),
    parseArguments: peerArguments,
    mines: new BucketMines(new Bucket(bus, 'brine_mine')),
    once: new BucketOnce(new Bucket(bus, 'brine_once'), SecretBox.fromMasterKey(pem, 'once')),
    now: () => Date.now(),
    nextJid: () => jids.next(nowMs()),
    count: requests.count,
    handled: requests.handled,
    refusedWork: refusedWorkLog(log),
    traceReturn: traces.wants,
    mayTellOfStranger: strangerAllowance(),
    audit,
  };
  const answerer: Answerer = new Answerer(ports, faultLog(log));
  const receiver = new RequestReceiver(bus, {
    workerId,
    host: options.brine.host,
    concurrency: CONCURRENCY,
  });
  receiver.serve(async (request) => {
    // A copy of the hot state that is being read anew is no ground for an answer.
    if (!state.ready() && !(await state.readyWithin(STATE_WAIT_MS))) return { kind: 'drop' };
    const startMs = nowMs();
    const answer = await answerer.answer(request);
    if (answer.kind === 'drop') return answer;
    const trace = traces.note(request, answer, startMs);
    return { kind: 'reply', body: answer.body, ...(trace === undefined ? {} : { trace }) };
  });
  exposeMetrics(context.metrics, { bus, receiver, masterKey, acks, ...state });
  const requestIds = [
    ...serveRequestIds(bus, state.requests),
    serveStalled(bus, (told) => {
      audit.recordRefusal({ kind: 'request', outcome: 'stalled', ...told });
    }),
  ];
  const stopHearing = hearSent(bus, traces.sent);
  return {
    ready: () => bus.status === 'connected' && state.ready(),
    status: () => ({
      minions: state.keys.counts(),
      sessions: state.sessions.count(),
      rsaQueued: masterKey.queued,
      requests: receiver.stats(),
    }),
    // A pillar that is being made, a runner that runs: they have their time.
    leave: () => receiver.drain(),
    close: async () => {
      await receiver.drain();
      acks?.close();
      stopHearing();
      traces.close();
      await audit.close();
      await Promise.all(requestIds.map((serving) => serving.close()));
      state.close();
      await masterKey.close();
      await files.close();
      await pillarThreads.close();
      await bus.close();
    },
  };
}

async function openHotState(bus: Bus, pem: string, publishSession: number) {
  const epochs = await AesEpochs.connect(bus, SecretBox.fromMasterKey(pem, 'aes'));
  const keysBucket = new Bucket(bus, 'brine_keys');
  const sessionsBucket = new Bucket(bus, 'brine_sessions');
  const secretsBucket = new Bucket(bus, 'brine_secrets');
  const minionsBucket = new Bucket(bus, 'brine_minions');
  const minionData = new BucketMinionData(minionsBucket);
  const pillars = new KeptPillars(
    new Bucket(bus, 'brine_pillars'),
    SecretBox.fromMasterKey(pem, 'pillar'),
  );
  const keys = new BucketMinionKeys(keysBucket, async (id, what) => {
    minionData.forget(id);
    pillars.forget(id);
    await forgetMinion(bus, id, what);
  });
  const sessions = new BucketSessionKeys(
    sessionsBucket,
    SecretBox.fromMasterKey(pem, 'session'),
    publishSession,
  );
  const syndics = new BucketSyndics(secretsBucket);
  const userKeys = new BucketUserKeys(secretsBucket, SecretBox.fromMasterKey(pem, 'userkeys'));
  const watches = [
    keysBucket.watch({
      onChange: (entry) => keys.changed(entry),
      onReset: () => keys.reset(),
    }),
    sessionsBucket.watch({
      onChange: (entry) => sessions.changed(entry),
      onReset: () => sessions.reset(),
    }),
    secretsBucket.watch({
      onChange: (entry) => {
        userKeys.changed(entry);
        syndics.changed(entry);
      },
      onReset: () => {
        userKeys.reset();
        syndics.reset();
      },
    }),
  ];
  await Promise.all(watches.map((watch) => watch.whenReady()));
  return {
    epochs,
    keys,
    sessions,
    syndics,
    userKeys,
    minionData,
    pillars,
    requests: new Bucket(bus, 'brine_requests'),
    ready: () => epochs.ready && watches.every((watch) => watch.ready),
    readyWithin: (timeoutMs: number) => {
      const all = Promise.all(watches.map((watch) => watch.whenReady()));
      const late = new Promise<false>((resolve) => setTimeout(resolve, timeoutMs, false).unref());
      return Promise.race([all.then(() => epochs.ready), late]);
    },
    close: () => {
      for (const watch of watches) watch.close();
      minionData.close();
      pillars.close();
      epochs.close();
    },
  };
}
