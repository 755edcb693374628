/** What a share of the minions does with a job. What is left out is what a good minion does. */
export interface Behaviour {
  /** For reports. */
  readonly name?: string;
  /** Part of all minions, 0 to 1; the shares are dealt out in order, the rest behaves well. */
  readonly share?: number;
  /** Instead of a share: a glob over ids. The first behaviour that fits counts. */
  readonly ids?: string;
  /** Default `once`. */
  readonly answer?: 'once' | 'twice' | 'never';
  /** Wait before the answer: fixed, or drawn between two bounds. */
  readonly delayMs?: number | readonly [number, number];
  /** Hang up both connections when a job comes, connect again, answer then. */
  readonly drop?: boolean;
  /** Log in again before each answer. */
  readonly logInAgain?: boolean;
  /** Return a text of so many bytes. */
  readonly returnBytes?: number;
  /** Other than 0 is a failed job (`success` false). */
  readonly retcode?: number;
  /** Instead of an answer: random bytes, a broken seal, or the id of another minion. */
  readonly hostile?: 'garbage' | 'bad-mac' | 'wrong-id';
}

/** What a swarm is made of. */
export interface SwarmOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The master's request port. */
  readonly retPort: number;
  /** Host and request port for publishes, where minions reach the master another way. */
  readonly clientHost?: string;
  readonly clientPort?: number;
  /** Overrides the port that the master tells at log-in. */
  readonly publishPort?: number;
  readonly minions: number;
  /** Child processes; default 1. More than minions are not started. */
  readonly processes?: number;
  /** 3 (default): session keys, tokens. 2: as 3006.5; needs `minimum_auth_version: 0`. */
  readonly payloadVersion?: 2 | 3;
  readonly keyBits?: 2048 | 4096;
  /** Stored pairs that the minions share; default 256 of 2048 bits, 16 of 4096. */
  readonly keyPairs?: number;
  /** Ids are the prefix and the index in five digits, see {@link minionId}. Default `swarm-`. */
  readonly idPrefix?: string;
  /** Index of the first minion, default 0. */
  readonly firstIndex?: number;
  readonly behaviours?: readonly Behaviour[];
  /** One of so many log-in replies and acknowledgements is opened and checked; default 20. */
  readonly openEvery?: number;
  /** File that gets one JSON line per publish, receipt, return, acknowledgement (appended). */
  readonly log?: string;
  /** The master's `pki_dir`: keys are accepted beforehand by writing `minions/<id>` there. */
  readonly pkiDir?: string;
  /** How long a dropped subscriber waits; default [1000, 11000] as stock minions. */
  readonly reconnectMs?: readonly [number, number];
  /** Silence after which a subscriber's connection is probed; default 300,000 as stock minions. */
  readonly keepAliveMs?: number;
  /** Time of one send of a return, drawn between these; default [5000, 10000] as stock minions. */
  readonly returnTimeoutMs?: readonly [number, number];
  /** Sends of a return, after which it is lost; default 3 as stock minions. */
  readonly returnSends?: number;
  /** Where key pairs are kept; default `${XDG_CACHE_HOME:-~/.cache}/brine/swarm`. */
  readonly cacheDir?: string;
  /** Gets a line when something takes long (making keys). */
  readonly onProgress?: (line: string) => void;
}

/** A storm: closed loop with `inFlight` requests, or open loop at a rate, bounded by `inFlight`. */
export interface LoadOptions {
  /** Most requests on the way at once, over all processes. */
  readonly inFlight: number;
  /** Ends after so many requests … */
  readonly count?: number;
  /** … or after this time, whatever comes first; 10 s where neither is given. */
  readonly durationMs?: number;
  /** Open loop: requests are due at this rate; latency counts from when one was due. */
  readonly ratePerSecond?: number;
}

/** A storm of returns. */
export interface ReturnsOptions extends LoadOptions {
  /** Size of the return value; default `true`, as of test.ping. */
  readonly returnBytes?: number;
  /** Return to these jobs, one minion once per job; default: own jids, as salt-call. */
  readonly jids?: readonly string[];
}

/** A storm of events (`_minion_event`). */
export interface EventsOptions extends LoadOptions {
  /** Size of the event's data; default 16. */
  readonly dataBytes?: number;
  /** Default `swarm/event`. */
  readonly tag?: string;
}

/** One job, as the `salt` command publishes it as root. */
export interface PublishOptions {
  /** The master's `cachedir`, where `.root_key` lies. */
  readonly cachedir: string;
  readonly target: string | string[];
  /** Default `glob` for text, `list` for a list. */
  readonly targetType?: string;
  /** Default `test.ping`. */
  readonly fun?: string;
  readonly arg?: unknown[];
  /** How long to wait for the last acknowledgement; default 30 s. */
  readonly waitMs?: number;
  /** Local user whose key file is read and who is named; default `root`. */
  readonly user?: string;
  /** How long each send of the request waits for its answer; default 60 s. */
  readonly requestTimeoutMs?: number;
  /** Sends of the same bytes, as the stock command does, before it is given up; default 1. */
  readonly sends?: number;
}

/** A storm of publishes. */
export type PublishesOptions = LoadOptions &
  Omit<PublishOptions, 'waitMs' | 'requestTimeoutMs' | 'sends'>;

/** How a storm went. */
export interface LoadResult {
  /** Requests begun. */
  readonly sent: number;
  /** With an answer as it should be. */
  readonly answered: number;
  /** Answered `bad load` or another refusal, after all tries. */
  readonly refused: number;
  /** Without an answer after all tries: lost. */
  readonly timedOut: number;
  /** Further sends of the same request. */
  readonly resent: number;
  /** Open loop: due but not begun when the time was up. */
  readonly unsent: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** Answered per second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU of the rig per request, in µs. */
  readonly rigMicros: number;
  /** Where the rig itself was too slow: the figures say nothing of the master then. */
  readonly bottleneck?: string;
}

/** How one job went. Times are ms since the publish request was sent. */
export interface JobResult {
  /** Undefined where the master refused; `error` has its words. */
  readonly jid: string | undefined;
  readonly error?: string;
  /** Minions of this swarm among those that the master named. */
  readonly targeted: number;
  /** Of them, the minions that got the publication. */
  readonly reached: number;
  readonly reachedLastMs: number;
  /** Publish reply. */
  readonly replyMs: number;
  /** Minions that sent a return. */
  readonly returned: number;
  /** Minions whose return was acknowledged. */
  readonly acknowledged: number;
  /** Returns given up after all tries. */
  readonly lost: number;
  readonly resends: number;
  readonly lastAckMs: number;
  /** From publish to acknowledgement, over minions. */
  readonly p50: number;
  readonly p99: number;
  readonly bottleneck?: string;
}

/** Counts of a process since its start. */
export interface SwarmCounts {
  connected: number;
  /** Subscriptions that the other side has ended. */
  subscriptionsLost: number;
  logIns: number;
  logInsFailed: number;
  publications: number;
  /** Broken seals, wrong signatures, old serials, frames that are none. */
  badPublications: number;
  returnsSent: number;
  returnsAcknowledged: number;
  returnsLost: number;
  /** Given up because too many waited at one minion. */
  returnsDropped: number;
  resends: number;
  hostileSent: number;
  /** Answers that were opened and were not what they should be. */
  badReplies: number;
  repliesOpened: number;
}

/** One child process. */
export interface ProcessStats extends SwarmCounts {
  readonly pid: number;
  readonly minions: number;
  /** User and system time in ms since the start. */
  readonly cpuMs: number;
  readonly rssBytes: number;
  /** Since the last load began. */
  readonly lagP99Ms: number;
  readonly lagMaxMs: number;
  /** Part of a core used since the last load began (until its end). */
  readonly cpuShare: number;
}

/** All processes. */
export interface SwarmStats {
  readonly processes: readonly ProcessStats[];
  readonly total: SwarmCounts & { readonly cpuMs: number; readonly rssBytes: number };
  readonly bottleneck: string | undefined;
}

/** The id of the minion with this index. */
export function minionId(prefix: string, index: number): string {
  return `${prefix}${String(index).padStart(5, '0')}`;
}
