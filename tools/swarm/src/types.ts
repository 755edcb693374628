/** The behaviour of a share of the minions. Missing fields are those of a good minion. */
export interface Behaviour {
  /** For reports. */
  readonly name?: string;
  /** Part of all minions, 0 to 1; shares are assigned in order, the rest behaves well. */
  readonly share?: number;
  /** Instead of a share: a glob over ids. The first matching behaviour counts. */
  readonly ids?: string;
  /** Default `once`. */
  readonly answer?: 'once' | 'twice' | 'never';
  /** Wait before the answer: fixed, or drawn between two bounds. */
  readonly delayMs?: number | readonly [number, number];
  /** Hang up both connections when a job comes, connect again, answer then. */
  readonly drop?: boolean;
  /** Log in again before each answer. */
  readonly logInAgain?: boolean;
  /** Size of the returned text, in bytes. */
  readonly returnBytes?: number;
  /** Other than 0 is a failed job (`success` false). */
  readonly retcode?: number;
  /** Instead of an answer: random bytes, a broken seal, or the id of another minion. */
  readonly hostile?: 'garbage' | 'bad-mac' | 'wrong-id';
}

/** Options of a swarm. */
export interface SwarmOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The master's request port. */
  readonly retPort: number;
  /** Host and request port for publishes, if minions reach the master by another address. */
  readonly clientHost?: string;
  readonly clientPort?: number;
  /** Overrides the port that the master names at log-in. */
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
  /** Every n-th log-in reply and acknowledgement is opened and checked; default 20. */
  readonly openEvery?: number;
  /** File that gets one JSON line per publish, receipt, return, acknowledgement (appended). */
  readonly log?: string;
  /** The master's `pki_dir`: keys are accepted beforehand by writing `minions/<id>` there. */
  readonly pkiDir?: string;
  /** Wait of a dropped subscriber; default [1000, 11000] as stock minions. */
  readonly reconnectMs?: readonly [number, number];
  /** Silence after which a subscriber's connection is probed; default 300,000 as stock minions. */
  readonly keepAliveMs?: number;
  /** Timeout of a send of a return, drawn between these; default [5000, 10000] as stock. */
  readonly returnTimeoutMs?: readonly [number, number];
  /** Sends of a return, after which it is lost; default 3 as stock minions. */
  readonly returnSends?: number;
  /** Directory of key pairs; default `${XDG_CACHE_HOME:-~/.cache}/brine/swarm`. */
  readonly cacheDir?: string;
  /** Called with a line for slow work (making keys). */
  readonly onProgress?: (line: string) => void;
}

/** A storm: closed loop with `inFlight` requests, or open loop at a rate, bounded by `inFlight`. */
export interface LoadOptions {
  /** Maximum of requests in flight, over all processes. */
  readonly inFlight: number;
  /** Ends after this number of requests … */
  readonly count?: number;
  /** … or after this time, whichever comes first; 10 s if neither is given. */
  readonly durationMs?: number;
  /** Open loop: requests are due at this rate; latency counts from the due time. */
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
  /** The master's `cachedir`, which contains `.root_key`. */
  readonly cachedir: string;
  readonly target: string | string[];
  /** Default `glob` for text, `list` for a list. */
  readonly targetType?: string;
  /** Default `test.ping`. */
  readonly fun?: string;
  readonly arg?: unknown[];
  /** Timeout for the last acknowledgement; default 30 s. */
  readonly waitMs?: number;
  /** Local user of the key file and of the publish; default `root`. */
  readonly user?: string;
  /** Timeout of each send of the request; default 60 s. */
  readonly requestTimeoutMs?: number;
  /** Maximum of sends of the same bytes, as the stock command does; default 1. */
  readonly sends?: number;
}

/** A storm of publishes. */
export type PublishesOptions = LoadOptions &
  Omit<PublishOptions, 'waitMs' | 'requestTimeoutMs' | 'sends'>;

/** The result of a storm. */
export interface LoadResult {
  /** Requests begun. */
  readonly sent: number;
  /** With a valid answer. */
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
  /** Set if the rig itself was too slow: then the figures do not describe the master. */
  readonly bottleneck?: string;
}

/** The result of one job. Times are ms since the publish request was sent. */
export interface JobResult {
  /** Undefined if the master refused; `error` has its text. */
  readonly jid: string | undefined;
  readonly error?: string;
  /** Minions of this swarm among those that the master named. */
  readonly targeted: number;
  /** Number of these minions that received the publication. */
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
  /** Broken seals, wrong signatures, old serials, invalid frames. */
  badPublications: number;
  returnsSent: number;
  returnsAcknowledged: number;
  returnsLost: number;
  /** Given up because too many waited at one minion. */
  returnsDropped: number;
  resends: number;
  hostileSent: number;
  /** Opened answers that were invalid. */
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
