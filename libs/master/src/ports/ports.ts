import type { AuditedAct, Event, Jid, Job } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { EventPages } from './event-pages.ts';
import type {
  AesKeys,
  Autosign,
  MasterKey,
  MinionKeys,
  SessionKeys,
  Syndics,
} from './key-ports.ts';
import type { AccessRules, Logins, Tokens } from './login-ports.ts';
import type { MinionPresence } from './presence-port.ts';
import type { ServedPorts, ServedRules } from './served-ports.ts';

/**
 * An event for the stream EVENTS, which stores it once however often it is appended. Only returns
 * of jobs need no id: PostgreSQL counts each once.
 */
export type EventToAppend = Event & ({ readonly msgId: string } | { readonly kind: 'ret' });

/** Appends events; resolves when the stream has acknowledged. */
export interface Events {
  append(event: EventToAppend): Promise<{ readonly duplicate: boolean }>;
}

/** Publishes a job. */
export interface Publications {
  /** Reserves a job id; false when another job has it. */
  reserve(jid: string): Promise<boolean>;
  /**
   * Notes the run that a command begins, or '' for none. Gives what was noted of it before;
   * undefined the first time.
   */
  begin(command: string, jid: string): Promise<string | undefined>;
  /**
   * Appends the job and waits up to a second until the store and the host's event-bus have it.
   * Resolves with the stored job; for a repeated request with that of the first try.
   */
  publish(job: Job): Promise<Pick<Job, 'jid' | 'minions' | 'missing'>>;
}

/** What the master remembers about minions. */
export interface MinionData {
  storeGrains(id: string, grains: SaltMap): Promise<void>;
  /** Makes the grains of all minions readable by `grains`; resolves at once when they are. */
  ready(): Promise<void>;
  grains(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined;
  /** Reads the record of one minion, for questions about a few of them. */
  fetch(id: string): Promise<StoredMinionData | undefined>;
}

/** What one minion said about itself. */
export interface StoredMinionData {
  readonly grains: SaltMap;
  /** When it said so, unix ms; absent where the record has no time. */
  readonly updatedAt?: number;
}

/** The banks of minion data, by Salt's names; the key of each record is a minion id. */
export type BankName = 'grains' | 'pillar' | 'mine';

/**
 * What the master keeps of minions, as `cache.*` sees it. Each rejects with MasterUnavailableError
 * when the hot state is away.
 */
export interface MinionBanks {
  /** The minions that have something there, sorted. */
  ids(bank: BankName): Promise<readonly string[]>;
  /**
   * Undefined where nothing is kept.
   * @param env of a pillar that was made for an environment
   */
  fetch(bank: BankName, id: string, env?: string): Promise<SaltMap | undefined>;
  /** Replaces what is kept. @throws RangeError for more than a record may hold */
  store(bank: BankName, id: string, data: SaltMap): Promise<void>;
  /**
   * Empties the records of these minions, pillars of all environments where none is named; gives
   * those that had something. What a minion sends later is kept again.
   */
  drop(bank: BankName, ids: readonly string[], env?: string): Promise<readonly string[]>;
}

/** Local users' keys (`.<user>_key` files of every host). */
export interface UserKeys {
  /** All keys of this user. */
  of(user: string): readonly string[];
  /** All keys of all users. */
  all(): readonly string[];
  /** Reads through to the record: a key that was just written counts at once. */
  refresh(): Promise<void>;
}

/** Questions to the job cache. */
export interface JobQueries {
  /** Rejects with `MasterUnavailableError` when the job cache is away (for `timeoutMs`). */
  ask(query: string, args: SaltMap, timeoutMs?: number): Promise<SaltValue>;
}

/** The options that rule the answers; Salt's names in camel case. */
export interface MasterRules extends ServedRules {
  readonly minimumAuthVersion: number;
  readonly requestServerTtl: number;
  readonly autoAccept: boolean;
  readonly openMode: boolean;
  readonly maxMinions: number;
  readonly maxPendingKeys: number;
  /** Signs that strangers' ids may have besides those that are plain in every shell. */
  readonly minionIdSigns?: string;
  readonly allowMinionKeyRevoke: boolean;
  readonly rotateAesKey: boolean;
  readonly preserveMinionCache: boolean;
  /** Returns without a signature are refused. */
  readonly requireMinionSignMessages?: boolean;
  /** Returns with a wrong one are. */
  readonly dropMessagesSignatureFail?: boolean;
  readonly publishPort: number;
  readonly authEvents: boolean;
  /** Acts of `salt/auth` events that tell the grains which the minion sent to be accepted. */
  readonly authEventsAutosignGrains?: readonly string[];
  readonly minionDataCache: boolean;
  readonly minionDataCacheEvents: boolean;
  readonly orderMasters: boolean;
  /** Minions (globs) that may be syndics, where `orderMasters` allows any. */
  readonly syndics: readonly string[];
  /** Tags (globs, `{id}` for the sender) that minions may fire in Salt's namespaces besides. */
  readonly minionEvents?: readonly string[];
  readonly masterId: string | undefined;
  /** The id of the master itself, `<host>_master`: its runs are returns of it. */
  readonly masterMinionId: string;
  /**
   * `stock`: what a function does for its caller is free, as with Salt. Default: each job, runner
   * and wheel that it begins is judged by the rights of its caller.
   */
  readonly innerCalls?: 'judged' | 'stock';
  /** Runners have an entry in the job cache. */
  readonly runnerReturns: boolean;
  readonly user: string;
  /** Name of the user the worker runs as. */
  readonly runningUser: string;
  readonly nodegroups: Readonly<Record<string, string | readonly string[]>>;
  readonly cachelessTargets: 'drop' | 'keep';
  /** Seconds after which a job is closed. */
  readonly jobDeadline: number;
  /** Seconds after which a publication is not sent any more. */
  readonly notAfter: number;
  /** Functions (globs) whose jobs are durable, and for how many seconds; the first that fits. */
  readonly durableFunctions?: readonly (readonly [glob: string, ttl: number])[];
  /** Publications carry the trace context of their own job. */
  readonly tracePublications?: boolean;
  readonly publisherAclBlacklist: {
    readonly users: readonly string[];
    readonly modules: readonly string[];
  };
  /** Log-ins and their rights; without it none is allowed. */
  readonly access?: AccessRules;
  /** Answer of `_master_opts`, complete. */
  readonly masterOpts: MasterOptsReply;
}

/** What the state compiler of a minion indexes without defaults. */
export interface MasterOptsReply {
  readonly topFileMergingStrategy: string;
  readonly envOrder: readonly string[];
  readonly defaultTop: string;
  readonly renderer: string;
  readonly failhard: boolean;
  readonly stateTop: string;
  readonly stateTopSaltenv: string | null;
  readonly nodegroups: Readonly<Record<string, string | readonly string[]>>;
  readonly stateAutoOrder: boolean;
  readonly stateEvents: boolean;
  readonly stateAggregate: SaltValue;
  readonly jinjaEnv: SaltValue;
  readonly jinjaSlsEnv: SaltValue;
  readonly jinjaLstripBlocks: boolean;
  readonly jinjaTrimBlocks: boolean;
}

/** Makes pillars. */
export interface Pillars {
  /**
   * The pillar of one minion, errors under `_errors`. Asked with `id`, `grains`, `saltenv`,
   * `pillarenv`, `override`, `ext` and `clean_cache`.
   */
  render(asked: SaltMap): Promise<SaltMap>;
  /** Makes the pillars of all minions readable by `of`; resolves at once when they are. */
  ready(): Promise<void>;
  /** The pillar that a minion got last. */
  of(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined;
}

/** Everything an answer may need. */
export interface MasterPorts extends ServedPorts {
  readonly rules: MasterRules;
  readonly keys: MinionKeys;
  readonly sessions: SessionKeys;
  readonly syndics: Syndics;
  readonly aes: AesKeys;
  readonly masterKey: MasterKey;
  readonly events: Events;
  readonly publications: Publications;
  readonly minionData: MinionData;
  readonly userKeys: UserKeys;
  readonly autosign: Autosign;
  readonly jobs: JobQueries;
  /** Absent where no events are kept. */
  readonly pages?: EventPages;
  /** Without it every pillar is empty. */
  readonly pillars?: Pillars;
  readonly logins: Logins;
  readonly tokens: Tokens;
  /**
   * A text for a return that is a secret, in the event of this tag: only the event-bus of a host
   * opens it, for the tools that wait at its socket.
   */
  readonly sealReturn: (tag: string, value: SaltValue) => string;
  readonly functions: MasterFunctions;
  /** Unix milliseconds. */
  now(): number;
  /** The next job id, strictly increasing in this process. */
  nextJid(): Jid;
  /** Counts a named occurrence, for the metrics. */
  count(name: string): void;
  /**
   * What all services of the cluster tell of themselves now (libs/bus callRoll). Rejects where
   * NATS is away or does not let them. Absent where there are no services.
   */
  roll?(): Promise<SaltMap>;
  /** Which minions are connected; absent where no worker looks after it. */
  readonly presence?: MinionPresence;
  /**
   * A minion made a request that only it could make, or, without an address, one that any minion
   * with an old payload version could make in its name.
   * @param address as the gateway saw it
   * @param jid of a return
   */
  heard?(id: string, address: string | undefined, jid: string | undefined): void;
  /** A request was refused because of what it asked to be parsed or matched. */
  refusedWork?(refused: RefusedWork): void;
  /** A command of the closed tables was run, for so long. */
  handled?(cmd: string, ms: number): void;
  /** The record of acts; absent where none is kept. */
  readonly audit?: AuditRecord;
  /**
   * Whether one more event of a log-in that was not accepted may be written. Strangers can cause
   * these events, and they take room in the stream that returns need.
   */
  mayReportStranger?(): boolean;
  /**
   * Does what stores events of one minion, syndic or engine, in its share of the streams.
   * @throws MasterUnavailableError before anything is done, where it has had its share: a peer
   *   without an answer sends the same bytes again
   */
  inShare<T>(peer: SharingPeer, bytes: number, work: () => Promise<T>): Promise<T>;
  /** Decides, once, whether the spans of a return are recorded; none are where it is absent. */
  traceReturn?(returned: ReturnToTrace): boolean;
}

/** Whose events are to be stored. A syndic sends those of all its minions. */
export interface SharingPeer {
  readonly id: string;
  readonly kind: 'minion' | 'syndic' | 'engine';
}

/** Whose request took too much work. */
export interface RefusedWork {
  readonly cmd: string;
  /** The minion or user that was proven to ask; absent where none was. */
  readonly who?: string;
  /** The address as the gateway saw it. */
  readonly peer?: string;
}

/** One request as the gateway handed it over. */
export interface Request {
  /** The same for all tries. */
  readonly id: string;
  readonly body: Uint8Array;
  readonly gatewayHost: string;
  /** The peer's address as the gateway saw it; absent where it did not say. */
  readonly peer?: string | undefined;
  /**
   * Gives up its place among the requests that are at work, for a wait on something outside whose
   * length others choose. Such waits have a limit of their own.
   */
  readonly stepAside?: () => void;
  /** When the gateway had it, in unix ms; undefined where it did not say. */
  readonly receivedMs?: number | undefined;
}

/** What goes back. `drop` leaves the peer without an answer, on purpose. */
export type Answer =
  | {
      readonly kind: 'reply';
      readonly body: Uint8Array;
      /** Absent where the request could not be opened, or asks for nothing worth a trace. */
      readonly about?: AnswerAbout;
    }
  | { readonly kind: 'drop' };

/** What the decision to trace a return depends on. */
export interface ReturnToTrace {
  readonly jid: string;
  readonly minion: string;
  /** It says itself that it failed. */
  readonly failed: boolean;
  /** When the gateway had it, in unix ms; undefined where it did not say. */
  readonly receivedMs: number | undefined;
}

/** What was answered, for its trace. */
export type AnswerAbout =
  | {
      readonly kind: 'publish';
      readonly jid: string;
      readonly piece?: string;
      readonly link?: string;
      /** The asking command records the root of the job's trace itself. */
      readonly askerTraces?: boolean;
    }
  | {
      readonly kind: 'return';
      readonly jid: string;
      readonly minion: string;
      readonly failed: boolean;
      readonly link?: string;
      readonly traced: boolean;
    }
  | {
      readonly kind: 'login' | 'pillar' | 'event' | 'query';
      readonly minion?: string;
      readonly link?: string;
    };

/** The record of acts. Its methods neither throw nor wait. */
export interface AuditRecord {
  record(act: AuditedAct): void;
  /**
   * Records a refusal, or another act that no proven caller asked for. Strangers can cause any
   * number of these: beyond an allowance they are counted, and the next row says how many.
   */
  recordRefusal(act: AuditedAct): void;
}

/** A call of a runner or wheel function. */
export interface FunctionCall {
  readonly kind: 'runner' | 'wheel';
  readonly fun: string;
  readonly jid: string;
  /** The user as events name it. */
  readonly user: string;
  /** The name that was proven to call. */
  readonly principal: string;
  /**
   * The caller whose rights count for what the function does, as `keptCaller` keeps it. Absent
   * where nothing is forbidden to it.
   */
  readonly caller?: SaltMap;
  /** What made this call: another one (`runner.state.orchestrate <jid>`), an event, a due time. */
  readonly via?: string;
  /** Calls that this one is in: each began the next. Absent where it is in none. */
  readonly depth?: number;
  /** How long its own commands wait for minions, s; absent: the master's `timeout`. */
  readonly timeoutSeconds?: number;
  /** Of the asking command; its own requests are linked to it. */
  readonly traceparent?: string;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/** What a function returned, or the text of its failure. */
export interface FunctionOutcome {
  readonly value: SaltValue;
  readonly success: boolean;
  /** Absent where it is 0. */
  readonly retcode?: number;
  /** Another worker has the run now, and tells what comes of it. */
  readonly moved?: true;
}

/** A command that runs on some minions at a time. */
export interface BatchOrder {
  readonly jid: string;
  /** The caller, as `keptCaller` keeps it: its rights are judged at each publish. */
  readonly caller: SaltMap;
  readonly principal: string;
  /** A digest of what it runs, and on whom: two commands may have chosen the same job id. */
  readonly command: string;
  /** The host of the gateway that it came to: files of its jobs are written there first. */
  readonly host: string;
  /** As for a publish, without credentials. */
  readonly load: SaltMap;
  /** Size, waits and limits: `BatchSettings` of libs/runners. */
  readonly settings: SaltMap;
}

/** Who began a batch, by which command, and how it stands. */
export interface KnownBatch {
  readonly principal: string;
  /** See {@link BatchOrder.command}; empty in one of a release that did not keep it. */
  readonly command: string;
  readonly state: SaltMap;
}

/** Whether a call of a function may begin: there is none of this name, or too many run already. */
export type Admission = 'yes' | 'unknown' | 'full';

/** The functions of the master, for the rules that judge who may call them. */
export interface MasterFunctions {
  /** @throws MasterUnavailableError where no process can tell */
  admits(kind: FunctionCall['kind'], fun: string): Promise<Admission>;
  /**
   * Hands a judged call over; resolves when it is kept. The function runs between its events `new`
   * and `ret`; if its process dies with it, another one fires `ret` with the failure.
   * @throws MasterUnavailableError, or Error with a text for its caller
   */
  begin(call: FunctionCall): Promise<void>;
  /** As {@link begin}; resolves with the outcome, once the event `ret` is stored. */
  call(call: FunctionCall): Promise<FunctionOutcome>;
  /**
   * Begins a batch that the cluster owns; resolves when it is kept.
   * @throws MasterUnavailableError, or Error with a text for its caller
   */
  beginBatch(order: BatchOrder): Promise<void>;
  /** A batch, under way or ended; undefined for none. */
  batch(jid: string): Promise<KnownBatch | undefined>;
}

/** The functions of the master in the process that runs them. */
export interface LocalFunctions {
  /** Whether there is a function of this kind and name. */
  knows(kind: FunctionCall['kind'], fun: string): boolean | Promise<boolean>;
  /** Runs a function, without its events. Never rejects: a failure is an outcome. */
  run(call: FunctionCall): Promise<FunctionOutcome>;
}
