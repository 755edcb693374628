import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, BusError } from '@brine/bus';
import { CommitWatch } from '@brine/bus/events';
import { ask } from '@brine/bus/rpc';
import { MasterUnavailableError } from '@brine/master';
import { mapOf } from '@brine/wire';

/** A return and its position in the stream. */
export interface AppendedReturn {
  readonly jid: string;
  readonly id: string;
  readonly seq: number;
  /** True if the stream already had it: the commit may be long past. */
  readonly duplicate: boolean;
}

/** Counts of replies that wait for PostgreSQL. */
export interface StoredAckStats {
  readonly waiting: number;
  /** Announced by the store. */
  readonly told: number;
  /** Confirmed by the store on request. */
  readonly asked: number;
  /** Left without an answer: the gateway keeps the request and delivers it again. */
  readonly unanswered: number;
}

/** A stock minion waits 5 to 10 s for the answer to a return (salt/minion.py). */
const WAIT_MS = 4_000;
/** While PostgreSQL is unreachable a longer wait would only block other requests. */
const AWAY_WAIT_MS = 250;
/**
 * A commit follows the stream's acknowledgement by tens of ms; after this its notice may be lost.
 */
const NOTICE_WITHIN_MS = 1_000;
const ASK_TIMEOUT_MS = 2_000;
/** Limit of returns in one question. */
const ASK_MAX = 1_000;
/** Time in which questions are gathered. */
const ASK_GATHER_MS = 50;

interface Question {
  readonly of: AppendedReturn;
  readonly answer: (stored: boolean) => void;
}

/**
 * `brine.ack: store`: a return is answered once PostgreSQL has committed it. The store announces
 * its commits, one message per batch. A worker that misses the message asks. Without a confirmation
 * there is no answer: the gateway keeps the bytes and delivers them again, and the worker
 * recognizes them (`UnansweredReturns`).
 */
export class StoredAcks {
  readonly #bus: Bus;
  readonly #commits: CommitWatch;
  #questions: Question[] = [];
  #asking = false;
  #away = false;
  #noticed = 0;
  #asked = 0;
  #unanswered = 0;

  constructor(bus: Bus) {
    this.#bus = bus;
    this.#commits = new CommitWatch(bus);
  }

  get stats(): StoredAckStats {
    return {
      waiting: this.#commits.size,
      told: this.#noticed,
      asked: this.#asked,
      unanswered: this.#unanswered,
    };
  }

  /** Resolves once PostgreSQL has the return. Throws MasterUnavailableError after a timeout. */
  async stored(appended: AppendedReturn): Promise<void> {
    const until = performance.now() + (this.#away ? AWAY_WAIT_MS : WAIT_MS);
    const left = (): number => until - performance.now();
    for (let first = true; left() > 0; first = false) {
      const wait = appended.duplicate && first ? 0 : Math.min(NOTICE_WITHIN_MS, left());
      if (wait > 0 && (await this.#commits.committed(appended.seq, wait))) {
        this.#away = false;
        this.#noticed += 1;
        return;
      }
      if (await this.#ask(appended)) {
        this.#asked += 1;
        return;
      }
    }
    this.#unanswered += 1;
    throw new MasterUnavailableError('PostgreSQL has not committed the return');
  }

  close(): void {
    this.#commits.close();
    for (const { answer } of this.#questions.splice(0)) answer(false);
  }

  #ask(of: AppendedReturn): Promise<boolean> {
    return new Promise((answer) => {
      this.#questions.push({ of, answer });
      if (!this.#asking) void this.#askAll();
    });
  }

  async #askAll(): Promise<void> {
    this.#asking = true;
    while (this.#questions.length > 0) {
      await sleep(ASK_GATHER_MS);
      const asked = this.#questions.splice(0, ASK_MAX);
      const stored = await this.#askFor(asked.map(({ of }) => of));
      asked.forEach(({ answer }, index) => answer(stored[index] === true));
    }
    this.#asking = false;
  }

  async #askFor(returns: readonly AppendedReturn[]): Promise<readonly unknown[]> {
    const pairs = returns.map(({ jid, id }) => [jid, id]);
    try {
      const answer = await ask(this.#bus, 'jobs.stored', mapOf({ returns: pairs }), ASK_TIMEOUT_MS);
      this.#away = false;
      return Array.isArray(answer) ? answer : [];
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      // Waiting calls count it as unanswered; the store logs the reason.
      this.#away = true;
      return [];
    }
  }
}
