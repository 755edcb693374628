import type { RequestClass } from '../subjects/names.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** What a gateway takes in hand of one class, and in which order it goes to workers. */
export interface ClassLimits {
  /** In hand at once: those that wait for a worker and those that a worker has. More is refused. */
  readonly count: number;
  /** Their bytes. */
  readonly bytes: number;
  /**
   * A line in which one has waited for so long is served newest first, ms: the peers at its head
   * have given up waiting by then.
   */
  readonly patienceMs: number;
  /** At the workers at once, for each worker; without it as many as they have room for. */
  readonly perWorker?: number;
  /** While so many sealed requests are in hand they go one at a time, so many ms apart. */
  readonly givesWay?: { readonly atSealed: number; readonly gapMs: number };
}

/** What a request waits for its turn among those of its minion or user. */
export interface ShareLimits {
  /** At the workers at once while no other peer asks, and while others do. */
  readonly atOnce: number;
  readonly atOnceAmongOthers: number;
  /**
   * One that is under way for longer does not count any more, ms: it waits for something else than
   * for us, and those behind it must not wait with it.
   */
  readonly countsForMs: number;
  /** Requests of all that wait for their turn; beyond it a request goes at once. */
  readonly waiting: number;
  /** The same by their bytes. */
  readonly waitingBytes: number;
  /** The same for one minion or user. */
  readonly waitingOfOne?: number;
  /** With a budget, what is beyond it or finds no place to wait is refused. */
  readonly budget?: Budget;
}

/** The bytes of one peer over time. */
export interface Budget {
  /** Those of a peer that had none for long. */
  readonly bytesAtOnce: number;
  /** Those that come back to it. */
  readonly bytesPerSecond: number;
}

/** How many requests of a class run in one worker at once, and how many wait there beside them. */
export interface WorkerPlaces {
  readonly concurrency: number;
  readonly queue: number;
}

/**
 * Everything that a request may wait for on its way to a worker, and for how long. Gateways have
 * limits by class of request and by lane; workers have their own.
 */
export const LIMITS = {
  inHand: {
    auth: {
      count: 20_000,
      bytes: 64 * MIB,
      // In order, each would be near its minion's 5 s when its turn comes. Seen with 10,000 log-ins
      // at once: the workers did 8,500, and 3,000 minions still waited for theirs.
      patienceMs: 1_000,
      // Enough to keep a worker's RSA threads busy, few enough that an urgent log-in does not
      // stand behind a storm there.
      perWorker: 24,
      // With so many, returns come faster than they are answered. A minion makes three tries of a
      // return and seven of a log-in.
      givesWay: { atSealed: 256, gapMs: 10 },
    },
    // Publishes, and runner and wheel requests.
    clear: { count: 5_000, bytes: 256 * MIB, patienceMs: Infinity },
    // A stock minion waits 5 to 10 s for the answer to a return (salt/minion.py), then asks again.
    aes: { count: 50_000, bytes: 512 * MIB, patienceMs: 4_000 },
  },

  /** Port 4506, by what is asked. */
  login: {
    // A stock minion waits 5 s for the answer (auth_timeout) and asks seven times. Silence just
    // below that costs it nothing, and it does not hear a later answer.
    waitsMs: 4_000,
    // A stock minion signs in 10 to 140 ms after a refused request; one that comes later than this
    // is not the log-in that the request waits for.
    urgentForMs: 10_000,
    urgentMinions: 10_000,
  },
  publish: {
    // A stock CLI sends the same bytes again after 5 s (Salt: salt/client LocalClient.pub); a text
    // that says that the master is down must come well before that.
    waitsMs: 2_800,
    // While workers live, or one had it and may have published it, a slow answer is better than a
    // text that leaves open whether there is a job. The CLI's further tries (at 5 and 10 s) join
    // the first, and all get its job id.
    waitsInHopeMs: 14_000,
    // For so long after a worker was last heard, or the gateway began, one is expected: workers are
    // replaced within seconds, and on a host without CPU their announcements come late.
    workersExpectedMs: 10_000,
    // A worker that stops, or has lost the stream for a moment, leaves a publish to the next one.
    retryMs: 100,
    // A publish costs every service something; a storm of one user's is let in by small pieces.
    // The user's proof is part of the name, so one user can not fill another's line.
    share: {
      atOnce: 2,
      atOnceAmongOthers: 1,
      countsForMs: 250,
      waiting: 2_000,
      waitingBytes: 64 * MIB,
    },
  },
  /** Runner, wheel and token requests. */
  command: {
    // A CLI of 3006.5 gives up after 30 s.
    waitsMs: 28_000,
  },
  sealed: {
    // A minion sends a return three times within 15 to 30 s and then forgets it; two minutes
    // bridge the restart of everything behind a gateway.
    waitsMs: 120_000,
    // What workers could not keep waits for its next delivery beside what is in hand.
    backlog: 50_000,
    backlogBytes: 256 * MIB,
    // One minion's large requests must leave room for the returns of others.
    backlogPartOfOne: 1 / 8,
    firstRetryMs: 500,
    longestRetryMs: 5_000,
    // A stock minion waits 5 to 10 s for an answer (return_retry_timer, return_retry_timer_max).
    lateMs: 10_000,
    // A storm of one minion is let in by small pieces: others stand behind a few of its requests,
    // not behind all. Each is answered within milliseconds when all is well.
    share: {
      atOnce: 2,
      atOnceAmongOthers: 2,
      countsForMs: 250,
      waiting: 20_000,
      waitingBytes: 256 * MIB,
      // The id of an envelope is not proven yet: a stranger may fill the line of another's name. A
      // minion has a few requests on their way at a time.
      waitingOfOne: 64,
    },
  },

  /**
   * What others choose to have stored, in front of the streams that all share. Per worker, except
   * for addresses. Returns of jobs are not among it: an operator has asked for them.
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
    // It sends the events of all its minions.
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
    // Strangers, in the process of an engine. An address may be that of a proxy.
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
  // Runners inside runners. Orchestrations of a site are three or four deep.
  calls: { depth: 12 },
  // One source's events wait in the queue of reactions up to this part of its room.
  reactions: { partOfOne: 1 / 8 },

  /** In each worker. Log-ins have places of their own and take none of the other classes'. */
  worker: {
    // They cost RSA work and wait for each other.
    auth: { concurrency: 16, queue: 64 },
    clear: { concurrency: 64, queue: 256 },
    // They only wait for the stream, so that many of them make one batch.
    aes: { concurrency: 512, queue: 1_024 },
  },
} as const satisfies {
  readonly inHand: Readonly<Record<RequestClass, ClassLimits>>;
  readonly worker: Readonly<Record<RequestClass, WorkerPlaces>>;
  readonly [lane: string]: unknown;
};
