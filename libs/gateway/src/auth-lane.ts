import { type RequestOutcome, type Waiting, WaitingLine } from '@brine/bus/rpc';
import { pack, RefusalText } from '@brine/wire';
import type { ZmqPeer, ZmqRequest } from '@brine/zmq';
import { addressOf, type Workers } from './ports.ts';

/** The answer to a log-in, and the worker's word of its trace. */
export interface LoginAnswer {
  readonly body: Uint8Array;
  readonly trace?: string;
}

/** One log-in that waits. */
interface Login extends Waiting {
  readonly id: string;
  readonly body: Buffer;
  readonly peer: ZmqPeer;
  readonly at: number;
  readonly answer: (answer: LoginAnswer | undefined) => void;
}

/** Counts of the log-in lane. */
export interface AuthLaneStats {
  readonly waiting: number;
  readonly inFlight: number;
  /** Came while the lane was full. */
  readonly refused: number;
  /** Left unanswered at their deadline. */
  readonly silent: number;
  /** Went before others, because a refused request waits for them. */
  readonly urgent: number;
  /** Let in one at a time, because returns were pressing. */
  readonly gaveWay: number;
  /** Their minion had hung up before their turn came. */
  readonly abandoned: number;
}

// A stock minion waits 5 s for the answer (auth_timeout) and asks seven times: silence just below
// that costs it nothing, and what is answered later than that has nobody to hear it.
const HOLD_MS = 4_000;
// A line in which somebody has waited for so long is served newest first until it is short again.
// Served in order, each would be near its minion's 5 s when its turn comes: seen with 10,000
// log-ins at once, where the workers did 8,500 and 3,000 minions still waited for theirs.
const PATIENCE_MS = 1_000;
// Log-ins at the workers at once, per worker: enough to keep their RSA threads busy, few enough
// that an urgent one does not stand behind a storm there.
const IN_FLIGHT_PER_WORKER = 24;
// With as many sealed requests in hand as this, returns come faster than they are answered, and
// log-ins, of which a minion makes seven tries, give way to returns, of which it makes three.
const PRESSED_AT = 256;
const PRESSED_GAP_MS = 10;
const MAX_WAITING = 20_000;
const MAX_WAITING_BYTES = 64 * 1_048_576;
const LOOK_MS = 50;

/** The one unsigned reply that a stock minion gets over. Salt: salt/crypt.py AsyncAuth.sign_in. */
export const BAD_LOAD_REPLY = pack(RefusalText.BAD_LOAD);

/**
 * Log-ins wait here, apart from everything else: in a storm they come by the thousand and cost a
 * worker a hundred times what a return costs. They are held up to 4 s and then left unanswered;
 * only where there is no worker at all are they answered `bad load`, the one text that means "not
 * now".
 */
export class AuthLane {
  readonly #workers: Workers;
  readonly #lines = {
    urgent: new WaitingLine<Login>(PATIENCE_MS),
    usual: new WaitingLine<Login>(PATIENCE_MS),
  };
  #bytes = 0;
  #inFlight = 0;
  #allowed = IN_FLIGHT_PER_WORKER;
  #lookedAt = -Infinity;
  #refused = 0;
  #silent = 0;
  #urgent = 0;
  #gaveWay = 0;
  #abandoned = 0;
  #pressed = false;
  #notBefore = 0;

  constructor(workers: Workers) {
    this.#workers = workers;
  }

  get stats(): AuthLaneStats {
    return {
      waiting: this.#waiting,
      inFlight: this.#inFlight,
      refused: this.#refused,
      silent: this.#silent,
      urgent: this.#urgent,
      gaveWay: this.#gaveWay,
      abandoned: this.#abandoned,
    };
  }

  /** Resolves with the answer, or undefined where there shall be none. */
  send(
    id: string,
    { body, peer }: Pick<ZmqRequest, 'body' | 'peer'>,
    urgent: boolean,
  ): Promise<LoginAnswer | undefined> {
    const full = this.#waiting >= MAX_WAITING || this.#bytes + body.length > MAX_WAITING_BYTES;
    if (full) {
      this.#refused += 1;
      return Promise.resolve(undefined);
    }
    return new Promise((answer) => {
      this.#bytes += body.length;
      if (urgent) this.#urgent += 1;
      const linedUpAt = performance.now();
      this.#lines[urgent ? 'urgent' : 'usual'].add({
        id,
        body,
        peer,
        at: performance.now(),
        linedUpAt,
        answer,
      });
      this.#pump();
    });
  }

  /** Gives up those whose time is over; to be called several times a second. */
  tick(): void {
    const over = performance.now() - HOLD_MS;
    for (const line of [this.#lines.urgent, this.#lines.usual]) {
      for (let { oldest } = line; oldest !== undefined && oldest.at <= over; { oldest } = line) {
        this.#take(line, oldest);
        this.#giveUp(oldest);
      }
    }
    this.#pump();
  }

  get #waiting(): number {
    return this.#lines.urgent.size + this.#lines.usual.size;
  }

  #pump(): void {
    while (this.#inFlight < this.#allowedNow()) {
      const login = this.#nextOf(this.#lines.urgent) ?? this.#nextUsual();
      if (login === undefined) return;
      void this.#deliver(login);
    }
  }

  /** The next one that no refused request waits for: while returns are pressing, one at a time. */
  #nextUsual(): Login | undefined {
    if (!this.#pressed) return this.#nextOf(this.#lines.usual);
    const now = performance.now();
    if (this.#inFlight > 0 || now < this.#notBefore) return undefined;
    this.#notBefore = now + PRESSED_GAP_MS;
    const login = this.#nextOf(this.#lines.usual);
    if (login !== undefined) this.#gaveWay += 1;
    return login;
  }

  #nextOf(line: WaitingLine<Login>): Login | undefined {
    for (const login of line) {
      this.#take(line, login);
      if (!login.peer.gone) return login;
      this.#abandoned += 1;
      login.answer(undefined);
    }
    return undefined;
  }

  #take(line: WaitingLine<Login>, login: Login): void {
    line.remove(login);
    this.#bytes -= login.body.length;
  }

  async #deliver(login: Login): Promise<void> {
    this.#inFlight += 1;
    const { id, body, at } = login;
    const peer = addressOf(login);
    const deadlineMs = Date.now() + at + HOLD_MS - performance.now();
    const outcome = await this.#workers.send({ id, class: 'auth', body, deadlineMs, ...peer });
    this.#inFlight -= 1;
    this.#settle(login, outcome);
    this.#pump();
  }

  #settle(login: Login, outcome: RequestOutcome): void {
    if (outcome.kind === 'reply') login.answer(outcome);
    else if (outcome.kind === 'expired') this.#giveUp(login);
    else login.answer(undefined);
  }

  #giveUp(login: Login): void {
    if (!this.#workers.ready) return login.answer({ body: BAD_LOAD_REPLY });
    this.#silent += 1;
    login.answer(undefined);
  }

  #allowedNow(): number {
    const now = performance.now();
    if (now - this.#lookedAt > LOOK_MS) {
      this.#lookedAt = now;
      const { workers, classes } = this.#workers.stats();
      this.#allowed = IN_FLIGHT_PER_WORKER * Math.max(1, workers);
      this.#pressed = classes.aes.inFlight + classes.aes.waiting >= PRESSED_AT;
    }
    return this.#allowed;
  }
}
