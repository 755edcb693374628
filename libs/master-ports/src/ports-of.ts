import { Bucket, type Bus } from '@brine/bus';
import { PublicationWriter } from '@brine/bus/jobs';
import { callRoll, rollKey } from '@brine/bus/rpc';
import { Uploads } from '@brine/cachedir';
import { SealedText, SecretBox } from '@brine/crypt';
import { JidMaker } from '@brine/job';
import { type WorkerTraces } from '@brine/job-traces';
import type { MasterPorts } from '@brine/master';
import type { MasterFunctions } from '@brine/master/functions';
import {
  BucketCodes,
  BucketCommands,
  BucketOnce,
  BucketTokens,
  BusPages,
  EpochAesKeys,
  type HotState,
  JobCacheQueries,
  jobLookups,
  type openAudit,
  strangerAllowance,
  type StreamEvents,
  StreamPublications,
} from '@brine/master-state';
import type { PythonCalls } from '@brine/python-host';
import { kindsFor, wantsJobs } from '@brine/reactor';
import { type CachedPillars, MasterTops, type ThreadedPillars } from '@brine/rendering';
import { type ServiceContext } from '@brine/service';
import { nowMs } from '@brine/telemetry';
import { isMap, mapOf, pack, type SaltMap } from '@brine/wire';
import { SECRET_RETURN } from '@brine/wire/load';
import { fromJson } from '@brine/wire/text';
import { refusedWorkLog } from './fault-log.ts';
import { type openFiles } from './files/files.ts';
import { type MasterKeyService } from './keys/master-key.ts';
import { SigningFiles } from './logins/autosign.ts';
import { loginsOf } from './logins/logins.ts';
import { type requestMetrics } from './metrics/metrics.ts';
import { peerArguments } from './peer-arguments.ts';
import type { RequestPresence } from './presence/open-presence.ts';
import { masterRules } from './rules.ts';
import { StoredShares } from './stored-shares.ts';

/** Dependencies of a worker's ports. */
interface Parts {
  readonly bus: Bus;
  readonly state: HotState;
  /** The master's private key, which seals the hot state. */
  readonly pem: string;
  readonly masterKey: MasterKeyService;
  readonly requests: ReturnType<typeof requestMetrics>;
  readonly events: StreamEvents;
  readonly audit: ReturnType<typeof openAudit>;
  readonly functions: MasterFunctions;
  readonly files: Awaited<ReturnType<typeof openFiles>>;
  readonly pillars: CachedPillars;
  readonly pillarThreads: ThreadedPillars;
  readonly traces: WorkerTraces;
  readonly python: PythonCalls | undefined;
  readonly presence: RequestPresence;
}

/** Connects each port of the rules to its implementation. */
export function portsOf(
  { options, telemetry, metrics, log }: ServiceContext,
  parts: Parts,
): MasterPorts {
  const { bus, state, pem, masterKey, requests, events, audit } = parts;
  const { functions, files, pillars, pillarThreads, traces, python, presence } = parts;
  const grainsOf = async (id: string): Promise<SaltMap> =>
    (await state.minionData.fetch(id))?.grains ?? mapOf({ id });
  const jids = new JidMaker();
  const returns = SealedText.fromMasterKey(pem, SECRET_RETURN);
  const shares = new StoredShares(metrics, (text) => log.warn(text));
  return {
    rules: masterRules(options),
    keys: state.keys,
    sessions: state.sessions,
    syndics: state.syndics,
    aes: new EpochAesKeys(state.epochs, (text, err) => log.error({ err }, text)),
    masterKey,
    events: requests.counted(events),
    publications: new StreamPublications({
      bus,
      writer: new PublicationWriter(bus),
      requests: state.requests,
      telemetry,
      events,
      lookups: jobLookups(bus, options.masterJobCache),
    }),
    commands: new BucketCommands(new Bucket(bus, 'brine_commands')),
    minionData: state.minionData,
    userKeys: state.userKeys,
    autosign: new SigningFiles(options),
    jobs: new JobCacheQueries(bus),
    pages: new BusPages({
      bus,
      maxEventSize: options.maxEventSize,
      narrow: (glob) => ({ kinds: kindsFor([glob]), jobs: wantsJobs([glob]) }),
    }),
    pillars,
    logins: loginsOf(options, requests.count, (text, err) => log.error({ err }, text)),
    ...logInStores(bus, pem),
    sealReturn: (tag, value) => returns.seal(tag, pack(value)),
    functions,
    files,
    received: new Uploads(options.cachedir),
    tops: new MasterTops(
      options.masterTops,
      async (path, id) => pillarThreads.classTops(path, mapOf({ id, grains: await grainsOf(id) })),
      (fields, text) => log.warn(fields, text),
      python && (async (name, id) => topOf(python, { name, id, grains: await grainsOf(id) })),
    ),
    parseArguments: peerArguments,
    mines: state.mines,
    once: new BucketOnce(new Bucket(bus, 'brine_once'), SecretBox.fromMasterKey(pem, 'once')),
    now: () => Date.now(),
    nextJid: () => jids.next(nowMs()),
    count: requests.count,
    handled: requests.handled,
    refusedWork: refusedWorkLog(log),
    traceReturn: traces.wants,
    roll: rollOf(bus),
    presence: presence.port,
    proven: (id, address, jid) => presence.proven(id, address, jid),
    mayReportStranger: strangerAllowance(),
    inShare: (peer, bytes, work) => shares.run(peer, bytes, work),
    audit,
  };
}

/** Tokens, and codes that make them. */
function logInStores(bus: Bus, pem: string): Pick<MasterPorts, 'tokens' | 'codes'> {
  const boxOf = (kind: string): SecretBox => SecretBox.fromMasterKey(pem, kind);
  return {
    tokens: new BucketTokens(new Bucket(bus, 'brine_tokens'), boxOf('token')),
    codes: new BucketCodes(new Bucket(bus, 'brine_codes'), boxOf('code')),
  };
}

/** Concurrent commands share one call. */
function rollOf(bus: Bus): () => Promise<SaltMap> {
  let running: Promise<SaltMap> | undefined;
  let known: ReadonlySet<string> = new Set();
  const call = async (): Promise<SaltMap> => {
    try {
      const roll = await callRoll(bus, { known });
      known = new Set(roll.services.map(rollKey));
      const value = fromJson(JSON.parse(JSON.stringify(roll)));
      return isMap(value) ? value : mapOf({});
    } finally {
      running = undefined;
    }
  };
  return () => (running ??= call());
}

/** Calls a `master_tops` module in Python for a minion. */
async function topOf(
  python: PythonCalls,
  given: { readonly name: string; readonly id: string; readonly grains: SaltMap },
): Promise<SaltMap> {
  const states = await python.call('pillar', 'top', mapOf(given));
  return isMap(states) ? states : mapOf({});
}
