import { randomBytes } from 'node:crypto';
import type { Bus } from '../connection/connect.ts';
import { ConnectionWatch } from '../connection/connection-watch.ts';
import { publish } from '../connection/inbox.ts';
import type { WheelTimer } from '../connection/timer-wheel.ts';
import { getBody, INLINE_MAX_BYTES, putBody } from '../streams/bodies.ts';
import { REPLY_INBOX, REQUEST_CLASSES, type RequestClass, subjects } from '../subjects/names.ts';
import { Admission, type ClassStats } from './admission.ts';
import { Bundler, BUNDLES, onWorkerMessages } from './bundle.ts';
import { type ClassLimits, LIMITS } from './limits.ts';
import {
  type Expiry,
  notBegun,
  Pending,
  type RequestOutcome,
  type RequestToSend,
  Tries,
  type Try,
} from './pending-request.ts';
import { CLAIM_MS, type WorkerMessage } from './request-frame.ts';
import { busyWith, isStruck, type Stall, Suspects } from './suspects.ts';
import { followWorkers, WorkerBoard } from './worker-board.ts';

/** A gateway's host and limits, and callbacks for its requests. */
export interface RequestSenderOptions {
  readonly host: string;
  readonly limits?: Partial<Readonly<Record<RequestClass, ClassLimits>>>;
  /** Called for an asker with refused requests. */
  readonly onStalled?: (stall: Stall) => void;
  /**
   * Called with the outcome of each request and its time. The time starts when it came or, in a
   * class whose requests go by turns, at its turn. Not called for a request that never had a turn.
   */
  readonly onOutcome?: (request: RequestToSend, outcome: RequestOutcome, tookMs: number) => void;
}

/** The counters of a gateway. */
export interface RequestSenderStats {
  readonly classes: Readonly<Record<RequestClass, ClassStats>>;
  /** Workers that are alive and take requests. */
  readonly workers: number;
  /** Tries of another worker after a claim had lapsed. */
  readonly retries: number;
  readonly expired: number;
  /** Requests that were refused because two workers with them stalled or died. */
  readonly stalled: number;
  /** Requests that were turned away while their askers rest after such a stall. */
  readonly resting: number;
  readonly refusedByLimit: number;
  /** Log-ins that went one at a time, because sealed requests were pressing. */
  readonly gaveWay: number;
}

/** How often silent workers are looked for, ms. */
const BEAT_MS = 500;
/** How often classes that give way are checked for their next request, ms. */
const LOOK_MS = 50;
/** Waiting requests that a search passes over at most: thousands may wait. */
const UNSENT_MAX = 64;

/**
 * Sends requests to workers. A worker claims its request at once and renews the claim while it
 * works; if the claim lapses, another worker is tried under the same id. While no worker accepts
 * requests, they wait until their deadline. One subscription and one timer wheel serve them all.
 */
export class RequestSender {
  /** This sender's name in the subjects that workers answer on. */
  readonly id = `g${randomBytes(9).toString('hex')}`;
  readonly #bus: Bus;
  readonly #host: string;
  readonly #prefix: string;
  readonly #requests: Bundler;
  readonly #onOutcome: RequestSenderOptions['onOutcome'];
  readonly #board = new WorkerBoard();
  readonly #tries = new Tries();
  readonly #admission: Admission;
  readonly #connectionWatch: ConnectionWatch;
  readonly #suspects: Suspects;
  readonly #stops: (() => void)[] = [];
  #looks: WheelTimer | undefined;
  #retries = 0;
  #expired = 0;
  #closed = false;

  constructor(bus: Bus, options: RequestSenderOptions) {
    this.#bus = bus;
    this.#host = options.host;
    this.#onOutcome = options.onOutcome;
    this.#admission = new Admission(() => this.#board.willing, options.limits);
    this.#suspects = new Suspects(
      (one) => void this.#dispatch(one),
      options.onStalled,
      () => this.#board.willing,
    );
    this.#prefix = `${REPLY_INBOX}.${this.id}.`;
    this.#requests = new Bundler(bus, this.#prefix + BUNDLES);
    this.#stops.push(
      onWorkerMessages(bus, this.#prefix, {
        claimed: (slot) => this.#claimed(slot),
        received: (slot, message) => this.#receive(slot, message),
      }),
      followWorkers(bus, this.#board, (id) => {
        this.#suspects.answered(id, performance.now());
        for (const cls of REQUEST_CLASSES) this.#pump(cls);
      }),
    );
    this.#connectionWatch = new ConnectionWatch(bus, {
      everyMs: BEAT_MS,
      gapMs: 3 * BEAT_MS,
      graceMs: CLAIM_MS,
      onAgain: (now) => this.#countAllAlive(now),
      onBeat: () => this.#forgetSilent(),
    });
    void bus.closed.then(() => this.close());
  }

  /** True if a worker accepts requests. */
  get ready(): boolean {
    return this.#bus.status === 'connected' && this.#board.ready;
  }

  /** True if a worker is there, or was so recently that it or its successor is expected. */
  get expected(): boolean {
    if (this.#bus.status !== 'connected') return false;
    const silentMs = performance.now() - this.#board.announcedAt;
    return this.#board.ready || silentMs < LIMITS.publish.workersExpectedMs;
  }

  /** Requests in flight and counters. */
  stats(): RequestSenderStats {
    const of = (cls: RequestClass): ClassStats =>
      this.#admission.statsOf(cls, this.#suspects.waiting(cls).size);
    return {
      classes: { auth: of('auth'), clear: of('clear'), aes: of('aes') },
      workers: this.#board.willing,
      retries: this.#retries,
      expired: this.#expired,
      ...this.#suspects.stats,
      ...this.#admission.stats,
    };
  }

  /** Sends one request; resolves with its outcome, at its deadline at the latest. */
  send(request: RequestToSend): Promise<RequestOutcome> {
    const left = request.deadlineMs - Date.now();
    if (this.#closed) return this.#refuse(request, 'closed');
    if (left <= 0) return this.#refuse(request, 'deadline');
    const now = performance.now();
    if (this.#suspects.turnsAway(request, now)) return this.#refuse(request, 'rests');
    if (!this.#admission.take(request)) return this.#refuse(request, 'limit');
    const asker = this.#suspects.begins(request);
    return new Promise((resolve) => {
      const pending = new Pending(request, asker, now + left, resolve);
      if (!this.#admission.goesByTurns(request.class)) pending.timedFrom = now;
      this.#watch(pending);
      if (request.body.length > INLINE_MAX_BYTES) void this.#putBody(pending);
      else this.#lineUp(pending);
    });
  }

  #refuse(request: RequestToSend, why: Expiry): Promise<RequestOutcome> {
    const outcome = notBegun(why);
    if (!this.#admission.goesByTurns(request.class)) this.#onOutcome?.(request, outcome, 0);
    return Promise.resolve(outcome);
  }

  /** Gives up all requests in flight, as expired. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connectionWatch.close();
    const waiting = REQUEST_CLASSES.flatMap((cls) => [
      ...this.#admission.waiting(cls),
      ...this.#suspects.waiting(cls),
    ]);
    for (const pending of new Set([...this.#tries.pending, ...waiting]))
      this.#settle(pending, pending.expired('closed'));
    if (!this.#bus.connection.isClosed()) for (const stop of this.#stops) stop();
  }

  async #putBody(pending: Pending): Promise<void> {
    try {
      pending.reference = await putBody(this.#bus, 'req', pending.request.body);
    } catch {
      // Storing the body failed. The peer will send it again, and that may succeed.
      this.#settle(pending, pending.expired('body'));
      return;
    }
    if (this.#closed) this.#settle(pending, pending.expired('closed'));
    else if (!pending.settled) this.#lineUp(pending);
  }

  /** Sends it, unless others have their turn before it. */
  #lineUp(pending: Pending): void {
    const cls = pending.request.class;
    if (!this.#admission.goesByTurns(cls)) return void this.#dispatch(pending);
    this.#admission.wait(pending, performance.now());
    this.#pump(cls);
  }

  /**
   * Sends to a worker; false if it has to line up until one has room. A request in line keeps its
   * place; a suspect may wait elsewhere.
   */
  #dispatch(pending: Pending): boolean {
    const { request, asker } = pending;
    const now = performance.now();
    if (this.#suspects.mustWait(pending, now)) {
      this.#admission.leave(pending);
      return true;
    }
    // No other worker came: allow tried workers that are alive.
    if (now - pending.linedUpAt > CLAIM_MS) pending.tried.clear();
    const isNext = this.#bus.status === 'connected' && this.#admission.isNext(pending, now);
    if (isNext && !pending.hadTurn && request.isGone?.() === true) {
      this.#settle(pending, pending.expired('gone'));
      return true;
    }
    const worker = isNext
      ? this.#board.choose(request.class, this.#suspects.notFor(pending), now, busyWith(asker))
      : undefined;
    if (worker === undefined) {
      this.#admission.wait(pending, now);
      return false;
    }
    this.#admission.goes(pending, now);
    if (pending.tried.size > 0) this.#retries++;
    const slot = this.#tries.begin(pending, worker.id);
    pending.hasLiveWorker = this.#board.isOnTime(worker, now);
    this.#suspects.goes(pending, worker.id);
    pending.claim(now);
    this.#board.count(worker.id, request.class, 1);
    const subject = subjects.request(request.class, worker.id);
    this.#requests.add(subject, slot, pending.pack(this.#host));
    return true;
  }

  #receive(slot: string, message: WorkerMessage): void {
    const attempt = this.#tries.get(slot);
    if (message.kind === 'ask-grant') return this.#grant(slot);
    if (attempt === undefined) return;
    const { pending } = attempt;
    switch (message.kind) {
      case 'refuse':
        this.#takeRoom(attempt, false);
        // The worker had no room, or was leaving; its next announcement may show room.
        this.#board.refused(attempt.worker, pending.request.class);
        pending.tried.delete(attempt.worker);
        return this.#over(slot);
      case 'drop':
      case 'reply':
        return this.#settle(pending, message);
      case 'reply-elsewhere':
        void this.#fetch(pending, slot, message.reference, message.trace);
    }
  }

  /** A worker has a request, or still has it. */
  #claimed(slot: string): void {
    const attempt = this.#tries.get(slot);
    if (attempt === undefined) return;
    const { pending, worker } = attempt;
    this.#takeRoom(attempt, true);
    if (pending.current === undefined) {
      // It was given up and waits for another worker, but the first is at work after all.
      this.#admission.leave(pending);
      pending.current = slot;
    }
    if (pending.current === slot) {
      pending.claim(performance.now());
      pending.hasLiveWorker = true;
      if (pending.struck) this.#suspects.goesOn(pending);
      // Another worker has it now: the earlier one must not begin.
    } else this.#answerGrant(slot, false);
    if (pending.struck) this.#suspects.answered(worker, performance.now());
  }

  #grant(slot: string): void {
    const pending = this.#tries.get(slot)?.pending;
    const granted = pending !== undefined && pending.current === slot;
    if (granted) pending.once = true;
    this.#answerGrant(slot, granted);
  }

  #answerGrant(slot: string, granted: boolean): void {
    const worker = this.#tries.get(slot)?.worker;
    if (worker === undefined) return;
    const message = `${this.id}.${slot} ${granted ? 1 : 0}`;
    this.#bus.connection.publish(subjects.grant(worker), message);
  }

  async #fetch(pending: Pending, slot: string, reference: string, trace?: string): Promise<void> {
    if (pending.fetching) return;
    pending.fetching = true;
    try {
      const body = await getBody(this.#bus, 'rep', reference);
      this.#settle(pending, { kind: 'reply', body, ...(trace === undefined ? {} : { trace }) });
    } catch {
      // The reply was made and is lost: a second try gets the same reply, by its id.
      pending.fetching = false;
      if (pending.current === slot) this.#over(slot);
    }
  }

  #lapse(slot: string): void {
    const attempt = this.#tries.get(slot);
    if (attempt === undefined) return;
    const { pending, worker } = attempt;
    this.#board.suspect(worker);
    if (pending.hasLiveWorker) this.#suspects.lapsed(pending, worker, performance.now());
    this.#over(slot);
  }

  /** One try is over without an answer. */
  #over(slot: string): void {
    const attempt = this.#tries.get(slot);
    if (attempt === undefined) return;
    this.#takeRoom(attempt, false);
    const { pending } = attempt;
    if (pending.settled || pending.current !== slot) return;
    if (pending.once) return this.#settle(pending, pending.expired('lapsed'));
    pending.current = undefined;
    this.#dispatch(pending);
  }

  /**
   * A request that a worker refused or was silent with may wait here for long, so another takes its
   * room there. A worker that has it after all sends a claim.
   */
  #takeRoom(attempt: Try, takesRoom: boolean): void {
    if (attempt.takesRoom === takesRoom) return;
    attempt.takesRoom = takesRoom;
    const { worker, pending } = attempt;
    this.#board.count(worker, pending.request.class, takesRoom ? 1 : -1);
  }

  #watch(pending: Pending): void {
    const now = performance.now();
    const until = Math.min(pending.deadline, pending.current ? pending.lapsesAt : Infinity);
    pending.timer = this.#bus.wheel.set(Math.min(until - now, CLAIM_MS), () => {
      if (pending.settled) return;
      const at = performance.now();
      if (at >= pending.deadline) return this.#settle(pending, pending.expired('deadline'));
      const { current } = pending;
      const lapsed = current !== undefined && !pending.fetching && at >= pending.lapsesAt;
      if (this.#connectionWatch.silenceCounts(at)) {
        if (lapsed) this.#lapse(current);
        for (const one of this.#suspects.refused(pending, at)) {
          this.#settle(one, one.expired(isStruck(one) ? 'stalled' : 'rests'));
        }
      }
      if (!pending.settled) this.#watch(pending);
    });
  }

  #forgetSilent(): void {
    const now = performance.now();
    if (this.#connectionWatch.silenceCounts(now)) this.#board.forgetSilent(now);
  }

  #countAllAlive(now: number): void {
    this.#board.countAllAlive(now);
    if (this.#bus.status !== 'connected') return;
    publish(this.#bus.connection, subjects.hello, '');
    for (const cls of REQUEST_CLASSES) this.#pump(cls);
  }

  /** Sends waiting requests, as far as workers have room. */
  #pump(cls: RequestClass): void {
    if (this.#closed) return;
    let unsent = 0;
    for (const pending of this.#admission.waiting(cls)) {
      if (this.#dispatch(pending)) continue;
      unsent += 1;
      // If no worker can take a request that any may have, none can take the others either.
      const isForAny = pending.tried.size === 0 && !pending.struck;
      if (isForAny || unsent >= UNSENT_MAX) break;
    }
    if (this.#looks !== undefined || !this.#admission.isGivingWay(cls)) return;
    if (!this.#admission.isWaiting(cls)) return;
    this.#looks = this.#bus.wheel.set(LOOK_MS, () => {
      this.#looks = undefined;
      this.#pump(cls);
    });
  }

  #settle(pending: Pending, outcome: RequestOutcome): void {
    if (!pending.settle(outcome)) return;
    if (pending.timedFrom !== undefined) {
      this.#onOutcome?.(pending.request, outcome, performance.now() - pending.timedFrom);
    }
    const cls = pending.request.class;
    if (outcome.kind === 'expired') this.#expired++;
    this.#admission.give(pending);
    this.#suspects.ends(pending, outcome.kind !== 'expired');
    const workers = this.#tries.end(pending);
    for (const worker of workers) this.#board.count(worker, cls, -1);
    if (workers.length > 0 && this.#admission.isWaiting(cls)) this.#pump(cls);
  }
}
