import type { RequestClass } from '../subjects/names.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** The requests of one class that a gateway admits, and the order in which workers get them. */
export interface ClassLimits {
  /** Most in flight, waiting or at a worker. Further ones are refused. */
  readonly count: number;
  /** Their bytes. */
  readonly bytes: number;
  /**
   * Once an entry has waited for this long, its line is served newest first, ms: the peers at its
   * head have given up by then.
   */
  readonly patienceMs: number;
  /** Most at each worker at once; without it as many as the worker has room for. */
  readonly perWorker?: number;
  /** With `atSealed` sealed requests in flight, this class goes one at a time, `gapMs` apart. */
  readonly givesWay?: { readonly atSealed: number; readonly gapMs: number };
}

/** Limits for the requests of one minion or user, which wait for their turns. */
export interface ShareLimits {
  /** Most at the workers at once while no other peer asks, and while others do. */
  readonly atOnce: number;
  readonly atOnceAmongOthers: number;
  /**
   * A request that runs longer stops counting, ms: it waits for something outside of the master,
   * and those behind it must not wait with it.
   */
  readonly countsForMs: number;
  /** Most requests of all peers that wait for their turn; beyond it a request goes at once. */
  readonly waiting: number;
  /** The same in bytes. */
  readonly waitingBytes: number;
  /** The same for one minion or user. */
  readonly waitingOfOne?: number;
  /** With a budget, a request that exceeds it or finds no place to wait is refused. */
  readonly budget?: Budget;
}

/** The bytes that one peer may send over time. */
export interface Budget {
  /** For a peer that sent nothing for long. */
  readonly bytesAtOnce: number;
  /** The rate at which its budget refills. */
  readonly bytesPerSecond: number;
}

/** How many requests of a class run in one worker at once, and how many wait there beside them. */
export interface WorkerPlaces {
  readonly concurrency: number;
  readonly queue: number;
}

/**
 * All limits and delays of a request on its way to a worker. Gateways have limits by class of
 * request and by lane; workers have their own.
 */
export const LIMITS = {
  inHand: {
    auth: {
      count: 20_000,
      bytes: 64 * MIB,
      // In order, each would be near its minion's 5 s when its turn comes. Measured with 10,000
      // log-ins at once: the workers did 8,500, and 3,000 minions still waited for theirs.
      patienceMs: 1_000,
      // Enough to keep a worker's RSA threads busy, few enough that an urgent log-in does not wait
      // there behind a storm.
      perWorker: 24,
      // With so many, returns arrive faster than they are answered. A minion makes three tries of a
      // return and seven of a log-in.
      givesWay: { atSealed: 256, gapMs: 10 },
    },
    // Publishes, and runner and wheel requests.
    clear: { count: 5_000, bytes: 256 * MIB, patienceMs: Infinity },
    // A stock minion waits 5 to 10 s for the answer to a return (salt/minion.py), then asks again.
    aes: { count: 50_000, bytes: 512 * MIB, patienceMs: 4_000 },
  },

  /** Port 4506, by kind of request. */
  login: {
    // A stock minion waits 5 s for the answer (auth_timeout) and asks seven times. Silence just
    // below that costs it nothing, and it ignores a later answer.
    waitsMs: 4_000,
    // A stock minion signs in 10 to 140 ms after a refused request; a later log-in is another one.
    urgentForMs: 10_000,
    urgentMinions: 10_000,
  },
  publish: {
    // A stock CLI sends the same bytes again after 5 s (Salt: salt/client LocalClient.pub). The
    // text that the master is down must arrive well before that.
    waitsMs: 2_800,
    // While workers live, or one may have published it, a slow answer is better than a text that
    // leaves open whether there is a job. The CLI's further tries (at 5 and 10 s) join the first,
    // and all get its job id.
    waitsInHopeMs: 14_000,
    // A worker is expected for this long after the last sign of any worker, or the gateway's start:
    // workers are replaced within seconds, and on a host without CPU their announcements come late.
    workersExpectedMs: 10_000,
    // A worker that stops, or has lost the stream for a moment, leaves a publish to the next one.
    retryMs: 100,
    // A publish costs every service something, so a storm of one user is admitted in small pieces.
    // The user's proof is part of the name, so one user can not fill another's line.
    share: {
      atOnce: 2,
      atOnceAmongOthers: 1,
      countsForMs: 250,
      waiting: 2_000,
      waitingBytes: 64 * MIB,
    },
  },
  /** Publishes by HTTP: one user may be a program that works for many. */
  http: {
    share: {
      atOnce: 16,
      atOnceAmongOthers: 4,
      countsForMs: 250,
      waiting: 2_000,
      waitingBytes: 256 * MIB,
    },
  },
  /** Runner, wheel and token requests. */
  command: {
    // A CLI of 3006.5 gives up after 30 s.
    waitsMs: 28_000,
  },
  sealed: {
    // A minion sends a return three times within 15 to 30 s and then forgets it. Two minutes bridge
    // the restart of everything behind a gateway.
    waitsMs: 120_000,
    // Requests that workers could not keep wait for their next delivery beyond these limits.
    backlog: 50_000,
    backlogBytes: 256 * MIB,
    // One minion's large requests must leave room for the returns of others.
    backlogPartOfOne: 1 / 8,
    firstRetryMs: 500,
    longestRetryMs: 5_000,
    // A stock minion waits 5 to 10 s for an answer (return_retry_timer, return_retry_timer_max).
    lateMs: 10_000,
    // A storm of one minion is admitted in small pieces: others wait behind a few of its requests,
    // not behind all. Each is answered within milliseconds when all is well.
    share: {
      atOnce: 2,
      atOnceAmongOthers: 2,
      countsForMs: 250,
      waiting: 20_000,
      waitingBytes: 256 * MIB,
      // The id of an envelope is not proven yet: a stranger may fill the line of another's name. A
      // minion has a few requests in flight at a time.
      waitingOfOne: 64,
    },
  },

  /**
   * Limits on what peers may store, before the streams that all share. Per worker, except for
   * addresses. Returns of jobs are exempt: an operator has asked for them.
   */
  stored: {
    // 330 events of 900 KB of one minion once filled the queue of reactions. A stock minion sends
    // its events of some KB one after the other.
    minion: {
      atOnce: 16,
      atOnceAmongOthers: 16,
      countsForMs: 1_000,
      waiting: 2_000,
      waitingBytes: 64 * MIB,
      waitingOfOne: 128,
      budget: { bytesAtOnce: 32 * MIB, bytesPerSecond: 512 * KIB },
    },
    // A syndic sends the events of all its minions.
    syndic: {
      atOnce: 64,
      atOnceAmongOthers: 64,
      countsForMs: 1_000,
      waiting: 2_000,
      waitingBytes: 256 * MIB,
      waitingOfOne: 1_000,
      budget: { bytesAtOnce: 512 * MIB, bytesPerSecond: 16 * MIB },
    },
    engine: {
      atOnce: 16,
      atOnceAmongOthers: 16,
      countsForMs: 1_000,
      waiting: 2_000,
      waitingBytes: 64 * MIB,
      waitingOfOne: 512,
      budget: { bytesAtOnce: 128 * MIB, bytesPerSecond: 4 * MIB },
    },
    // Strangers, in the process of an engine. An address may be a proxy's.
    address: {
      atOnce: 4,
      atOnceAmongOthers: 4,
      countsForMs: 5_000,
      waiting: 256,
      waitingBytes: 64 * MIB,
      waitingOfOne: 32,
      budget: { bytesAtOnce: 32 * MIB, bytesPerSecond: MIB },
    },
  },
  // Runners that call runners. Orchestrations of a site are three or four deep.
  calls: { depth: 12 },
  // The part of the queue of reactions that one source's events may fill.
  reactions: { partOfOne: 1 / 8 },

  /** In each worker. Log-ins have places of their own and take none from other classes. */
  worker: {
    // Log-ins cost RSA work and wait for each other.
    auth: { concurrency: 16, queue: 64 },
    clear: { concurrency: 64, queue: 256 },
    // Sealed requests only wait for the stream, so that many of them make one batch.
    aes: { concurrency: 512, queue: 1_024 },
  },
} as const satisfies {
  readonly inHand: Readonly<Record<RequestClass, ClassLimits>>;
  readonly worker: Readonly<Record<RequestClass, WorkerPlaces>>;
  readonly [lane: string]: unknown;
};
