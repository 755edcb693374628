import { setTimeout as sleep } from 'node:timers/promises';
import { type Behaviour, minionId, type PublishOptions, type Swarm } from '@brine/swarm';

/** Share of minions with odd behaviour, before the good ones; see {@link BEHAVIOURS}. */
const ODD_SHARE = 0.2;

/** Behaviours other than an immediate answer, for a fifth of the minions. */
export const BEHAVIOURS: readonly Behaviour[] = [
  { name: 'twice', share: 0.05, answer: 'twice' },
  { name: 'slow', share: 0.05, delayMs: [500, 6_000] },
  { name: 'failed', share: 0.05, retcode: 1 },
  { name: 'logs in', share: 0.03, logInAgain: true },
  { name: 'never', share: 0.02, answer: 'never' },
];

/** The minions, and how jobs reach them. */
export interface Fleet {
  readonly swarm: Swarm;
  readonly minions: number;
  readonly prefix: string;
  /** The master's `cachedir`, where the key of root's client is. */
  readonly cachedir: string;
  /** The minions are below another master: the client does not learn the targets of its jobs. */
  readonly below?: boolean;
  /** Number of times that the client sends an unanswered publish; default 3 as stock. */
  readonly sends?: number;
}

/** Load beside the faults, per second. */
export interface LoadRates {
  readonly jobs: number;
  /** Returns without a job, as of salt-call. */
  readonly returns: number;
  readonly logIns: number;
  /** Every n-th job is for all minions; default 5. */
  readonly allEvery?: number;
}

/** As the stock command: the same bytes after 5 s without an answer, at most three times. */
const SEND_AS_STOCK = { requestTimeoutMs: 5_000, sends: 3 } as const;
/** Text of a gateway that is sure. */
const NOT_PUBLISHED = 'was not published';
/** Number of minions of a job that is not for all. */
const FEW = 10;
/** Every n-th job is for all minions. */
const ALL_EVERY = 5;
/** Maximum of publishes without an answer; more are skipped and counted. */
const MAX_WAITING = 50;
/** Length of the pieces of a storm, so that storms end on time. */
const PIECE_MS = 2_000;

/** Results of the load. */
export interface LoadCounts {
  jobs: number;
  /** Publishes without an answer after all sends: the client does not know. */
  unanswered: number;
  /** Refused with an error: there is no job. */
  refused: number;
  /** Answered with an error after which a job may exist. */
  unsure: number;
  /** Not sent, because too many waited. */
  leftOut: number;
}

/** A steady load of jobs, returns and log-ins, independent of the master's state. */
export class Load {
  readonly counts: LoadCounts = { jobs: 0, unanswered: 0, refused: 0, unsure: 0, leftOut: 0 };
  readonly #fleet: Fleet;
  readonly #rates: LoadRates;
  readonly #waiting = new Set<Promise<void>>();
  readonly #ends: Promise<void>[];
  #running = true;

  constructor(fleet: Fleet, rates: LoadRates) {
    this.#fleet = fleet;
    this.#rates = rates;
    this.#ends = [this.#jobs(), this.#storm('returns'), this.#storm('logIn')];
  }

  /** Sends no more; resolves when every request has been answered or given up. */
  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#ends);
    await Promise.all(this.#waiting);
  }

  async #jobs(): Promise<void> {
    const everyMs = 1_000 / this.#rates.jobs;
    for (let number = 0; this.#running; number += 1) {
      await sleep(everyMs);
      if (this.#waiting.size >= MAX_WAITING) {
        this.counts.leftOut += 1;
        continue;
      }
      const one = this.#job(number).finally(() => this.#waiting.delete(one));
      this.#waiting.add(one);
    }
  }

  async #job(number: number): Promise<void> {
    const { swarm, cachedir, prefix, sends = SEND_AS_STOCK.sends } = this.#fleet;
    const target =
      number % (this.#rates.allEvery ?? ALL_EVERY) === 0
        ? `${prefix}*`
        : someMinions(this.#fleet, FEW, 0);
    // The log of the rig has the returns; wait only for the answer.
    const options: PublishOptions = { cachedir, target, waitMs: 0, ...SEND_AS_STOCK, sends };
    this.counts.jobs += 1;
    try {
      const { jid, error } = await swarm.publish(options);
      if (jid !== undefined) return;
      if (error?.includes(NOT_PUBLISHED) === true) this.counts.refused += 1;
      else this.counts.unsure += 1;
    } catch {
      this.counts.unanswered += 1;
    }
  }

  async #storm(kind: 'returns' | 'logIn'): Promise<void> {
    const { swarm } = this.#fleet;
    const ratePerSecond = kind === 'returns' ? this.#rates.returns : this.#rates.logIns;
    if (ratePerSecond === 0) return;
    while (this.#running) await swarm[kind]({ inFlight: 8, ratePerSecond, durationMs: PIECE_MS });
  }
}

/** Different minions, drawn among all, or among those that answer well (`from` as their share). */
export function someMinions({ minions, prefix }: Fleet, count: number, from: number): string[] {
  const first = Math.ceil(minions * from);
  const wanted = Math.min(count, minions - first);
  const chosen = new Set<number>();
  while (chosen.size < wanted) {
    chosen.add(first + Math.floor(Math.random() * (minions - first)));
  }
  return [...chosen].sort((a, b) => a - b).map((index) => minionId(prefix, index));
}

/** Minions without odd behaviour: their job is complete if the master is well. */
export function goodMinions(fleet: Fleet, count: number): string[] {
  return someMinions(fleet, count, ODD_SHARE);
}
