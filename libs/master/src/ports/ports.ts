import type { AuditedAct, Event, Jid, Job, JobOrigin } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { Commands } from './command-ports.ts';
import type { EventPages } from './event-pages.ts';
import type {
  AesKeys,
  Autosign,
  MasterKey,
  MinionKeys,
  SessionKeys,
  Syndics,
} from './key-ports.ts';
import type { AccessRules, Codes, Logins, Tokens } from './login-ports.ts';
import type { MinionPresence } from './presence-port.ts';
import type { KeptPart, ServedPorts, ServedRules } from './served-ports.ts';

/**
 * An event for the stream EVENTS, which stores one event per `msgId`. Only returns of jobs need no
 * id: PostgreSQL counts each once.
 */
export type EventToAppend = Event & ({ readonly msgId: string } | { readonly kind: 'ret' });

/** Appends events; resolves when the stream has acknowledged. */
export interface Events {
  append(event: EventToAppend): Promise<{ readonly duplicate: boolean }>;
}

/** Publishes a job. */
export interface Publications {
  /** Reserves a job id; false if another job has it. */
  reserve(jid: string): Promise<boolean>;
  /**
   * Records the run that a command begins; '' for none. Returns the earlier record; undefined the
   * first time.
   */
  begin(command: string, jid: string): Promise<string | undefined>;
  /**
   * Appends the job and waits up to a second until the store and the host's event-bus have it; for
   * `readsStore` ({@link Request}) only the store. Resolves with the stored job; a repeated request
   * gets that of the first try.
   */
  publish(job: Job, readsStore?: boolean): Promise<Pick<Job, 'jid' | 'minions' | 'missing'>>;
}

/** Data of minions. */
export interface MinionData {
  storeGrains(id: string, grains: SaltMap): Promise<void>;
  /** Loads the grains of all minions for `grains`; resolves at once if they are loaded. */
  ready(): Promise<void>;
  grains(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined;
  /** Reads the record of one minion, for questions about a few of them. */
  fetch(id: string): Promise<StoredMinionData | undefined>;
}

/** The data that one minion sent about itself. */
export interface StoredMinionData {
  readonly grains: SaltMap;
  /** Time of sending, unix ms; absent if the record has no time. */
  readonly updatedAt?: number;
}

/** The banks of minion data, by Salt's names; the key of each record is a minion id. */
export type BankName = 'grains' | 'pillar' | 'mine';

/**
 * The data of minions for `cache.*`. Each method rejects with MasterUnavailableError while the hot
 * state is unreachable.
 */
export interface MinionBanks {
  /** The minions with a record, sorted. */
  ids(bank: BankName): Promise<readonly string[]>;
  /**
   * Undefined if there is no record.
   * @param env of a pillar that was made for an environment
   */
  fetch(bank: BankName, id: string, env?: string): Promise<SaltMap | undefined>;
  /** Replaces a record. @throws RangeError if it is too large */
  store(bank: BankName, id: string, data: SaltMap): Promise<void>;
  /**
   * Empties the records of these minions, pillars of all environments if none is named. Returns the
   * minions that had one. Data that a minion sends later are stored again.
   */
  drop(bank: BankName, ids: readonly string[], env?: string): Promise<readonly string[]>;
}

/** Local users' keys (`.<user>_key` files of every host). */
export interface UserKeys {
  /** All keys of this user. */
  of(user: string): readonly string[];
  /** All keys of all users. */
  all(): readonly string[];
  /** Reads the record itself, so that a key that was just written counts at once. */
  refresh(): Promise<void>;
}

/** Questions to the job cache. */
export interface JobQueries {
  /** Rejects with MasterUnavailableError if the job cache does not answer in `timeoutMs`. */
  ask(query: string, args: SaltMap, timeoutMs?: number): Promise<SaltValue>;
}

/** Options for the answers; Salt's names in camel case. */
export interface MasterRules extends ServedRules {
  readonly minimumAuthVersion: number;
  readonly requestServerTtl: number;
  readonly autoAccept: boolean;
  readonly openMode: boolean;
  readonly maxMinions: number;
  readonly maxPendingKeys: number;
  /** Characters that strangers' ids may have besides those that every shell takes literally. */
  readonly minionIdSigns?: string;
  readonly allowMinionKeyRevoke: boolean;
  readonly rotateAesKey: boolean;
  readonly preserveMinionCache: boolean;
  /** Refuses returns without a signature. */
  readonly requireMinionSignMessages?: boolean;
  /** Refuses returns with a wrong signature. */
  readonly dropMessagesSignatureFail?: boolean;
  readonly publishPort: number;
  readonly authEvents: boolean;
  /** Acts of `salt/auth` events that contain the grains sent for autosign. */
  readonly authEventsAutosignGrains?: readonly string[];
  readonly minionDataCache: boolean;
  readonly minionDataCacheEvents: boolean;
  readonly orderMasters: boolean;
  /** Minions (globs) that may be syndics; `orderMasters` must be set too. */
  readonly syndics: readonly string[];
  /** More tags (globs, `{id}` for the sender) that minions may fire in Salt's namespaces. */
  readonly minionEvents?: readonly string[];
  readonly masterId: string | undefined;
  /** The id of the master itself, `<host>_master`, under which its runs return. */
  readonly masterMinionId: string;
  /**
   * `stock`: a function may do anything for its caller, as in Salt. Default: each job, runner and
   * wheel that it begins is judged by the rights of its caller.
   */
  readonly innerCalls?: 'judged' | 'stock';
  /** Stores runners in the job cache. */
  readonly runnerReturns: boolean;
  readonly user: string;
  /** Name of the user the worker runs as. */
  readonly runningUser: string;
  readonly nodegroups: Readonly<Record<string, string | readonly string[]>>;
  readonly cachelessTargets: 'drop' | 'keep';
  /** Seconds after which a job is closed. */
  readonly jobDeadline: number;
  /** Seconds after which a publication is no longer sent. */
  readonly notAfter: number;
  /** Functions (globs) whose jobs are durable, and their seconds; the first match counts. */
  readonly durableFunctions?: readonly (readonly [glob: string, ttl: number])[];
  /** Adds the trace context of their own job to publications. */
  readonly tracePublications?: boolean;
  readonly publisherAclBlacklist: {
    readonly users: readonly string[];
    readonly modules: readonly string[];
  };
  /** Log-ins and their rights; absent: none is allowed. */
  readonly access?: AccessRules;
  /** The complete answer of `_master_opts`. */
  readonly masterOpts: MasterOptsReply;
}

/** The options that the state compiler of a minion indexes without defaults. */
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
   * Makes the pillar of one minion, errors under `_errors`. Parameters: `id`, `grains`, `saltenv`,
   * `pillarenv`, `override`, `ext` and `clean_cache`.
   */
  render(asked: SaltMap): Promise<SaltMap>;
  /** Loads the pillars of all minions for `of`; resolves at once if they are loaded. */
  ready(): Promise<void>;
  /** The last pillar of a minion. */
  of(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined;
  /** Reads the last pillar of one minion, of the environment of the master. */
  kept(id: string): Promise<KeptPart | undefined>;
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
  readonly commands: Commands;
  readonly minionData: MinionData;
  readonly userKeys: UserKeys;
  readonly autosign: Autosign;
  readonly jobs: JobQueries;
  /** Absent if events are not stored. */
  readonly pages?: EventPages;
  /** Absent: every pillar is empty. */
  readonly pillars?: Pillars;
  readonly logins: Logins;
  readonly tokens: Tokens;
  readonly codes: Codes;
  /**
   * Seals a secret return as a text, in the event of this tag: only the event-bus of a host opens
   * it, for the tools at its socket.
   */
  readonly sealReturn: (tag: string, value: SaltValue) => string;
  readonly functions: MasterFunctions;
  /** Unix milliseconds. */
  now(): number;
  /** Returns the next job id, strictly increasing in this process. */
  nextJid(): Jid;
  /** Counts a named occurrence, for the metrics. */
  count(name: string): void;
  /**
   * The reports of all services in the cluster (libs/bus callRoll). Rejects if NATS is unreachable
   * or denies it. Absent without services.
   */
  roll?(): Promise<SaltMap>;
  /** Which minions are connected; absent if no worker tracks presence. */
  readonly presence?: MinionPresence;
  /**
   * Called when a minion proves that it is alive.
   * @param address as the gateway saw it; undefined if the request could be forged (old payload
   * version)
   * @param jid of a return
   */
  proven?(id: string, address: string | undefined, jid: string | undefined): void;
  /** Called when a request is refused because parsing or matching it takes too much work. */
  refusedWork?(refused: RefusedWork): void;
  /** Called after a command of the closed tables, with its time. */
  handled?(cmd: string, ms: number): void;
  /** The record of acts; absent if none is written. */
  readonly audit?: AuditRecord;
  /**
   * False if the event of a log-in that was not accepted must be left out. Strangers can cause
   * these events, and they take room in the stream that returns need.
   */
  mayReportStranger?(): boolean;
  /**
   * Runs work that stores events of one minion, syndic or engine, within its share of the streams.
   * @throws MasterUnavailableError before the work, if the share is used up: a peer without an
   * answer sends the same bytes again
   */
  inShare<T>(peer: SharingPeer, bytes: number, work: () => Promise<T>): Promise<T>;
  /** Decides, once, whether the spans of a return are recorded; absent: never. */
  traceReturn?(returned: ReturnToTrace): boolean;
}

/** The sender of events. A syndic sends those of all its minions. */
export interface SharingPeer {
  readonly id: string;
  readonly kind: 'minion' | 'syndic' | 'engine';
}

/** The request that took too much work. */
export interface RefusedWork {
  readonly cmd: string;
  /** The proven minion or user; absent without a proof. */
  readonly who?: string;
  /** The address as the gateway saw it. */
  readonly peer?: string;
}

/** A request from the gateway. */
export interface Request {
  /** The same for all tries. */
  readonly id: string;
  readonly body: Uint8Array;
  readonly gatewayHost: string;
  /** The peer's address as the gateway saw it; absent if it is unknown. */
  readonly peer?: string | undefined;
  /**
   * Releases its place among the running requests, for an external wait of unknown length. Such
   * waits have a limit of their own.
   */
  readonly stepAside?: () => void;
  /** Time of arrival at the gateway, in unix ms; undefined if it is unknown. */
  readonly receivedMs?: number | undefined;
  /** True if the asker finds jobs in the store, without the files of the gateway's host. */
  readonly readsStore?: boolean | undefined;
  /** What began the job, where the process asks for work that was begun before. */
  readonly origin?: JobOrigin | undefined;
}

/** The reply. `drop` leaves the peer without an answer, on purpose. */
export type Answer =
  | {
      readonly kind: 'reply';
      readonly body: Uint8Array;
      /** Absent for a request that could not be opened, or is not traced. */
      readonly about?: AnswerAbout;
    }
  | { readonly kind: 'drop' };

/** Facts for the decision to trace a return. */
export interface ReturnToTrace {
  readonly jid: string;
  readonly minion: string;
  /** True if the return reports a failure. */
  readonly failed: boolean;
  /** Time of arrival at the gateway, in unix ms; undefined if it is unknown. */
  readonly receivedMs: number | undefined;
}

/** Facts of an answer, for its trace. */
export type AnswerAbout =
  | {
      readonly kind: 'publish';
      readonly jid: string;
      readonly piece?: string;
      readonly link?: string;
      /** True if the client records the root of the job's trace itself. */
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
   * Records a refusal, or another act without a proven caller. Strangers can cause any number of
   * these: beyond a limit they are counted, and the next row has the number.
   */
  recordRefusal(act: AuditedAct): void;
}

/** A call of a runner or wheel function. */
export interface FunctionCall {
  readonly kind: 'runner' | 'wheel';
  readonly fun: string;
  readonly jid: string;
  /** The user in events. */
  readonly user: string;
  /** The name that was proven to call. */
  readonly principal: string;
  /**
   * The caller whose rights apply to the acts of the function, as `keptCaller` stores it. Absent:
   * everything is allowed.
   */
  readonly caller?: SaltMap;
  /**
   * The cause of this call: another one (`runner.state.orchestrate <jid>`), an event, a due time.
   */
  readonly via?: string;
  /** Number of nested calls around this one; absent: none. */
  readonly depth?: number;
  /** Timeout of its own commands for minions, s; absent: the master's `timeout`. */
  readonly timeoutSeconds?: number;
  /** Trace of the client; the function's own requests are linked to it. */
  readonly traceparent?: string;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/** The result of a function, or the text of its failure. */
export interface FunctionOutcome {
  readonly value: SaltValue;
  readonly success: boolean;
  /** Absent where it is 0. */
  readonly retcode?: number;
  /** Another worker has taken over the run, and reports its result. */
  readonly moved?: true;
}

/** A command that runs on some minions at a time. */
export interface BatchOrder {
  readonly jid: string;
  /** The caller, as `keptCaller` stores it: its rights are judged at each publish. */
  readonly caller: SaltMap;
  readonly principal: string;
  /** A digest of the command and its target: two commands may have chosen the same job id. */
  readonly command: string;
  /** The host of its gateway, where files of its jobs are written first. */
  readonly host: string;
  /** What began it. */
  readonly origin: JobOrigin;
  /** The load of a publish, without credentials. */
  readonly load: SaltMap;
  /** Size, waits and limits: `BatchSettings` of libs/runners. */
  readonly settings: SaltMap;
}

/** The caller, command and state of a batch. */
export interface KnownBatch {
  readonly principal: string;
  /** See {@link BatchOrder.command}; empty in batches of older releases. */
  readonly command: string;
  readonly state: SaltMap;
}

/** A run of a function, or a batch, that has not ended. */
export interface RunUnderWay {
  /** Its caller and what it runs; a batch has no arguments here. */
  readonly call: Pick<FunctionCall, 'fun' | 'jid' | 'user' | 'principal' | 'args' | 'kwargs'> & {
    readonly kind: FunctionCall['kind'] | 'batch';
  };
  /** True once a process works on it. */
  readonly isBegun: boolean;
  /** What is saved of it: steps of an orchestration, the state of a batch. */
  readonly data: SaltMap;
}

/** Batches that have ended; `next` is where the page after them begins. */
export interface EndedBatches {
  readonly batches: readonly RunUnderWay[];
  readonly next: string | undefined;
}

/** Admission of a call: `unknown` function, or `full` with running calls. */
export type Admission = 'yes' | 'unknown' | 'full';

/** The functions of the master, for the rules that judge who may call them. */
export interface MasterFunctions {
  /** @throws MasterUnavailableError if no process answers */
  admits(kind: FunctionCall['kind'], fun: string): Promise<Admission>;
  /**
   * Hands a judged call over; resolves when it is stored. The function runs between its events
   * `new` and `ret`; if its process dies, another one fires `ret` with the failure.
   * @throws RunIsKnownError if its jid has or had a run, MasterUnavailableError, or Error with a
   * text for its caller
   */
  begin(call: FunctionCall): Promise<void>;
  /** As {@link begin}; resolves with the outcome, once the event `ret` is stored. */
  call(call: FunctionCall): Promise<FunctionOutcome>;
  /**
   * Begins a batch that the cluster owns; resolves when it is stored.
   * @throws MasterUnavailableError, or Error with a text for its caller
   */
  beginBatch(order: BatchOrder): Promise<void>;
  /** A current or ended batch; undefined if it is unknown. */
  batch(jid: string): Promise<KnownBatch | undefined>;
  /**
   * The runs and batches that have not ended, without the data of runs. Arguments that are large
   * are left out. @throws MasterUnavailableError if no process answers
   */
  underWay(): Promise<readonly RunUnderWay[]>;
  /**
   * A page of the batches that have ended in the last seven days, newest first: those with lower
   * jids than `before`. @throws MasterUnavailableError if no process answers
   */
  endedBatches(asked: {
    readonly before: string | undefined;
    readonly limit: number;
  }): Promise<EndedBatches>;
  /** One run that has not ended; undefined for another jid, also of a batch. */
  run(jid: string): Promise<RunUnderWay | undefined>;
  /**
   * The functions of the master, its site and its minions, to be judged by the asker.
   * `{kind?, q?, after?}` → `{names, complete}`, a name as `kind name`; `{names}` → `{rows}`, the
   * first of them that fit into one answer: `{kind, name, parameters, open, doc, source}`.
   * @throws MasterUnavailableError if no process answers
   */
  known(question: SaltMap): Promise<SaltMap>;
}

/** The functions of the master in the process that runs them. */
export interface LocalFunctions {
  /** True if a function of this kind and name exists. */
  knows(kind: FunctionCall['kind'], fun: string): boolean | Promise<boolean>;
  /** Runs a function, without its events. Never rejects: a failure is an outcome. */
  run(call: FunctionCall): Promise<FunctionOutcome>;
}
