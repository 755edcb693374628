import { createHash } from 'node:crypto';
import { Crypticle, newKeyString, type PrivateKey, PublicKey } from '@brine/crypt';
import { type AuditedAct, JidMaker, type Job } from '@brine/job';
import type {
  CodeRecord,
  CommandRecord,
  EventToAppend,
  LocalFunctions,
  MasterPorts,
  MasterRules,
  MinionKey,
  StoredMinionKey,
  TokenRecord,
} from '@brine/master';
import { type BatchOrder, runBetweenEvents, type RunUnderWay } from '@brine/master/functions';
import { callFunction } from '@brine/runners';
import type { SaltMap, SaltValue } from '@brine/wire';
import { memoryServed } from './memory-served.ts';

/** The ports of a master in memory. Tests can read everything that a rule writes. */
export interface MemoryMaster {
  readonly ports: MasterPorts;
  readonly events: EventToAppend[];
  /** The audited acts; refusals have no allowance here. */
  readonly audited: AuditedAct[];
  /** Those of them without an allowance anywhere. */
  readonly unlimited: AuditedAct[];
  readonly jobs: Job[];
  readonly counts: Map<string, number>;
  readonly minionKeys: Map<string, StoredMinionKey>;
  readonly sessions: Map<string, Crypticle>;
  readonly grains: Map<string, SaltMap>;
  readonly tokens: Map<string, TokenRecord>;
  /** Work that was begun beside requests. */
  readonly background: Promise<unknown>[];
  /** The functions of this master, as its own process has them. */
  readonly local: { -readonly [K in keyof LocalFunctions]: LocalFunctions[K] };
  /** The batches that were begun. */
  readonly batches: BatchOrder[];
  setKey(id: string, key: MinionKey): void;
}

/** The choices of a test. */
export interface MemoryMasterOptions {
  readonly masterKey: PrivateKey;
  readonly aesKeyString?: string;
  readonly rules?: Partial<MasterRules>;
  readonly userKeys?: Readonly<Record<string, string>>;
  readonly autosign?: 'accept' | 'reject' | 'none';
  readonly nowMs?: number;
  /** Names of runner functions; absent: any. */
  readonly knownRunners?: readonly string[];
  readonly runRunner?: LocalFunctions['run'];
  /** True if no more runners may run. */
  readonly isFull?: () => boolean;
  /** The runs that have not ended. */
  readonly underWay?: readonly RunUnderWay[];
  /** Answers questions about functions. */
  readonly knownFunctions?: MasterPorts['functions']['known'];
  /** Passwords by user, of every login module. */
  readonly passwords?: Readonly<Record<string, string>>;
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  readonly answerQuery?: (query: string, args: SaltMap) => SaltValue;
}

/** Builds a master that keeps everything in memory. */
// eslint-disable-next-line max-lines-per-function -- an entry for each port
export function memoryMaster(options: MemoryMasterOptions): MemoryMaster {
  const events: EventToAppend[] = [];
  const audited: AuditedAct[] = [];
  const unlimited: AuditedAct[] = [];
  const jobs: Job[] = [];
  const runs = new Map<string, string>();
  const commands = new Map<string, CommandRecord>();
  const counts = new Map<string, number>();
  const minionKeys = new Map<string, StoredMinionKey>();
  const sessions = new Map<string, Crypticle>();
  const grains = new Map<string, SaltMap>();
  const parsed = new Map<string, PublicKey>();
  const tokens = new Map<string, TokenRecord>();
  const codes = new Map<string, CodeRecord | undefined>();
  const syndics = new Set<string>();
  const answering = new Set<string>();
  let aes = new Crypticle(options.aesKeyString ?? newKeyString());
  const background: Promise<unknown>[] = [];
  const batches: BatchOrder[] = [];
  let revision = 0;
  const jids = new JidMaker();
  const setKey = (id: string, key: MinionKey): void => {
    revision += 1;
    minionKeys.set(id, { ...key, revision });
  };
  const ofId = (id: string): readonly Crypticle[] => {
    const session = sessions.get(id);
    return session === undefined ? [] : [session];
  };
  const users = options.userKeys ?? {};
  const local: LocalFunctions = {
    knows: (_kind, fun) => options.knownRunners?.includes(fun) ?? true,
    run: (call) => {
      if (call.kind === 'wheel') return callFunction(call, { master: { ...ports, call } } as never);
      return options.runRunner?.(call) ?? Promise.resolve({ value: null, success: true });
    },
  };
  const ports: MasterPorts = {
    rules: { ...DEFAULT_RULES, ...options.rules },
    sealReturn: (tag) => `sealed:${tag}`,
    keys: {
      cached: (id) => minionKeys.get(id),
      fetch: (id) => Promise.resolve(minionKeys.get(id)),
      store: (id, next, previous) => {
        if (minionKeys.get(id)?.revision !== previous?.revision) return Promise.resolve(false);
        setKey(id, next);
        return Promise.resolve(true);
      },
      parsed: (_id, pem) => {
        const key = parsed.get(pem) ?? PublicKey.parse(pem);
        parsed.set(pem, key);
        return key;
      },
      accepted: () => idsIn(minionKeys, 'accepted'),
      all: () => minionKeys,
      pendingCount: () => idsIn(minionKeys, 'pending').size,
      forget: async (id, { data }) => {
        sessions.delete(id);
        if (data) grains.delete(id);
      },
    },
    sessions: {
      cached: ofId,
      fetch: (id) => Promise.resolve(ofId(id)),
      current: (id) => {
        const session = sessions.get(id) ?? new Crypticle(newKeyString());
        sessions.set(id, session);
        return Promise.resolve(session);
      },
      count: () => sessions.size,
      has: (id) => sessions.has(id),
    },
    syndics: {
      isKnown: async (id) => syndics.has(id),
      remember: async (id) => void syndics.add(id),
      unanswering: () => new Set([...syndics].filter((id) => !answering.has(id))),
      answers: async (id) => void answering.add(id),
    },
    aes: {
      current: () => aes,
      forLogin: async () => aes,
      rotate: () => {
        aes = new Crypticle(newKeyString());
      },
      forRequests: () => [aes],
    },
    masterKey: {
      publicPem: options.masterKey.publicKey.pem.trim(),
      sign: (data, algo) => Promise.resolve(options.masterKey.sign(data, algo)),
      decrypt: async (data, algo) => options.masterKey.oaepDecrypt(data, algo),
      aesKeySignature: (keyString) => {
        const digest = createHash('sha256').update(keyString).digest('hex');
        return Promise.resolve(options.masterKey.x931Encrypt(Buffer.from(digest)));
      },
    },
    events: {
      append: (event) => {
        const { msgId } = event;
        const duplicate = msgId !== undefined && events.some((known) => known.msgId === msgId);
        if (!duplicate) events.push(event);
        return Promise.resolve({ duplicate });
      },
    },
    publications: {
      reserve: (wanted) => Promise.resolve(!jobs.some((job) => job.jid === wanted)),
      begin: (command, jid) => {
        const begun = runs.get(command);
        if (begun === undefined) runs.set(command, jid);
        return Promise.resolve(begun);
      },
      publish: (job) => {
        const first = jobs.find((known) => known.requestId === job.requestId);
        if (first === undefined) jobs.push(job);
        return Promise.resolve(first ?? job);
      },
    },
    commands: {
      find: async (key) => commands.get(key),
      begin: async (key, command) => {
        const kept = commands.get(key) ?? { ...command, isDone: false };
        commands.set(key, kept);
        return kept;
      },
      done: async (key, command) => void commands.set(key, { ...command, isDone: true }),
    },
    minionData: {
      storeGrains: (id, value) => Promise.resolve(void grains.set(id, value)),
      fetch: async (id) => {
        const found = grains.get(id);
        return found && { grains: found };
      },
      ready: () => Promise.resolve(),
      grains: (id) => grains.get(id),
    },
    userKeys: {
      of: (user) => (Object.hasOwn(users, user) ? [users[user] ?? ''] : []),
      all: () => Object.values(users),
      refresh: () => Promise.resolve(),
    },
    autosign: { decide: () => Promise.resolve(options.autosign ?? 'none') },
    jobs: {
      ask: (query, args) =>
        options.answerQuery === undefined
          ? Promise.reject(new Error('no job cache here'))
          : Promise.resolve(options.answerQuery(query, args)),
    },
    logins: {
      vouch: async (_module, username, password) =>
        options.passwords?.[username] === password
          ? { name: username, groups: options.groups?.[username] ?? [] }
          : undefined,
      prove: (_proof, _from, check) => check(),
    },
    codes: {
      keep: async (hash, record) => {
        if (codes.has(hash)) return false;
        codes.set(hash, record);
        return true;
      },
      take: async (code) => {
        const hash = createHash('sha256').update(code).digest('hex');
        const found = codes.get(hash);
        if (found !== undefined) codes.set(hash, undefined);
        return found;
      },
    },
    tokens: {
      keep: async (token, record) => void tokens.set(token, record),
      find: async (token) => tokens.get(token),
      forget: async (token) => void tokens.delete(token),
    },
    functions: {
      admits: async (_kind, fun) => {
        if (options.knownRunners?.includes(fun) === false) return 'unknown';
        return options.isFull?.() === true ? 'full' : 'yes';
      },
      begin: async (call) => void background.push(runBetweenEvents(ports, local, call)),
      call: (call) => {
        const running = runBetweenEvents(ports, local, call);
        background.push(running);
        return running;
      },
      beginBatch: async (order) => void batches.push(order),
      batch: async (jid) => {
        const found = batches.find((order) => order.jid === jid);
        return found && { ...found, state: found.settings };
      },
      underWay: async () => options.underWay ?? [],
      endedBatches: async () => ({ batches: [], next: undefined }),
      run: async (jid) => options.underWay?.find(({ call }) => call.jid === jid),
      known: options.knownFunctions ?? (async () => new Map()),
    },
    inShare: (_peer, _bytes, work) => work(),
    ...memoryServed(),
    audit: {
      record: (act) => {
        audited.push(act);
        unlimited.push(act);
      },
      recordRefusal: (act) => void audited.push(act),
    },
    now: () => options.nowMs ?? Date.now(),
    nextJid: () => jids.next(options.nowMs ?? Date.now()),
    count: (name) => void counts.set(name, (counts.get(name) ?? 0) + 1),
  };
  const stores = { minionKeys, sessions, grains, tokens };
  return {
    ports,
    events,
    audited,
    unlimited,
    jobs,
    counts,
    ...stores,
    background,
    local,
    batches,
    setKey,
  };
}

function idsIn(keys: ReadonlyMap<string, MinionKey>, state: MinionKey['state']): Set<string> {
  return new Set([...keys].filter(([, key]) => key.state === state).map(([id]) => id));
}

const DEFAULT_RULES: MasterRules = {
  masterMinionId: 'test_master',
  runnerReturns: true,
  minimumAuthVersion: 3,
  requestServerTtl: 0,
  autoAccept: false,
  openMode: false,
  maxMinions: 0,
  maxPendingKeys: 1000,
  allowMinionKeyRevoke: true,
  rotateAesKey: true,
  preserveMinionCache: false,
  publishPort: 4505,
  authEvents: true,
  minionDataCache: true,
  minionDataCacheEvents: true,
  orderMasters: false,
  syndics: ['*'],
  masterId: undefined,
  user: 'root',
  runningUser: 'root',
  nodegroups: {},
  cachelessTargets: 'drop',
  jobDeadline: 3600,
  notAfter: 30,
  publisherAclBlacklist: { users: [], modules: [] },
  masterOpts: {
    topFileMergingStrategy: 'merge',
    envOrder: [],
    defaultTop: 'base',
    renderer: 'jinja|yaml',
    failhard: false,
    stateTop: 'top.sls',
    stateTopSaltenv: null,
    nodegroups: {},
    stateAutoOrder: true,
    stateEvents: false,
    stateAggregate: false,
    jinjaEnv: new Map(),
    jinjaSlsEnv: new Map(),
    jinjaLstripBlocks: false,
    jinjaTrimBlocks: false,
  },
};
