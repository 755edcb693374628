import { randomBytes } from 'node:crypto';
import { INLINE_MAX_BYTES, getBody, putBody } from './bodies.ts';
import { BUNDLES, Bundler } from './bundle.ts';
import type { Bus } from './connect.ts';
import { InHand } from './in-hand.ts';
import type { ClassLimit, ClassStats, RequestSenderStats } from './in-hand.ts';
import { followWorkers } from './follow-workers.ts';
import { Hearing } from './hearing.ts';
import { publish } from './inbox.ts';
import { REPLY_INBOX, REQUEST_CLASSES, subjects } from './names.ts';
import type { RequestClass } from './names.ts';
import { notBegun, Pending } from './pending-request.ts';
import type { RequestOutcome, RequestToSend } from './pending-request.ts';
import { CLAIM_MS } from './request-frame.ts';
import type { WorkerWord } from './request-frame.ts';
import { WaitingLine } from './waiting-line.ts';
import { hearWords } from './word-inbox.ts';
import { WorkerBoard } from './worker-board.ts';

/** Who a gateway is, and how much it holds. */
export interface RequestSenderOptions {
  readonly host: string;
  readonly limits?: Partial<Readonly<Record<RequestClass, ClassLimit>>>;
}

/** A stock minion waits 5 to 10 s for the answer to a return (salt/minion.py), then asks again. */
const AES_PATIENCE_MS = 4_000;

/**
 * Sends requests to workers: a worker is chosen, claims the request at once and renews that while
 * it works; a lapsed claim is tried on another worker under the same id. While nobody takes
 * requests they are held until their deadline. One subscription and one timer wheel serve them all.
 */
export class RequestSender {
  /** This sender's name in the subjects that workers answer on. */
  readonly id = `g${randomBytes(9).toString('hex')}`;
  readonly #bus: Bus;
  readonly #host: string;
  readonly #prefix: string;
  readonly #requests: Bundler;
  readonly #board = new WorkerBoard();
  readonly #tries = new Map<string, { readonly pending: Pending; readonly worker: string }>();
  readonly #lines: Readonly<Record<RequestClass, WaitingLine<Pending>>>;
  readonly #inHand: InHand;
  readonly #hearing: Hearing;
  readonly #stops: (() => void)[] = [];
  #next = 0;
  #closed = false;
  #retries = 0;
  #expired = 0;

  constructor(bus: Bus, options: RequestSenderOptions) {
    this.#bus = bus;
    this.#host = options.host;
    this.#inHand = new InHand(options.limits);
    this.#prefix = `${REPLY_INBOX}.${this.id}.`;
    this.#requests = new Bundler(bus, this.#prefix + BUNDLES);
    const aes = new WaitingLine<Pending>(AES_PATIENCE_MS);
    this.#lines = { auth: new WaitingLine(), clear: new WaitingLine(), aes };
    this.#stops.push(
      hearWords(bus, this.#prefix, {
        claimed: (slot) => this.#claimed(slot),
        said: (slot, word) => this.#hear(slot, word),
      }),
    );
    this.#stops.push(
      followWorkers(bus, this.#board, () => {
        for (const cls of REQUEST_CLASSES) this.#pump(cls);
      }),
    );
    this.#hearing = new Hearing(
      bus,
      (now) => this.#hearAnew(now),
      (now) => this.#board.forgetSilent(now),
    );
    void bus.closed.then(() => this.close());
  }

  /** Whether there is a worker that takes requests. */
  get ready(): boolean {
    return this.#bus.status === 'connected' && this.#board.ready;
  }

  /** What is in hand and what was counted. */
  stats(): RequestSenderStats {
    const of = (cls: RequestClass): ClassStats => ({
      inFlight: this.#inHand.of(cls).count - this.#lines[cls].size,
      waiting: this.#lines[cls].size,
      bytes: this.#inHand.of(cls).bytes,
    });
    return {
      classes: { auth: of('auth'), clear: of('clear'), aes: of('aes') },
      workers: this.#board.willing,
      retries: this.#retries,
      expired: this.#expired,
      refusedByLimit: this.#inHand.refused,
    };
  }

  /** Sends one request; resolves with what became of it, at its deadline at the latest. */
  send(request: RequestToSend): Promise<RequestOutcome> {
    const left = request.deadlineMs - Date.now();
    if (this.#closed) return Promise.resolve(notBegun('closed'));
    if (left <= 0) return Promise.resolve(notBegun('deadline'));
    if (!this.#inHand.take(request.class, request.body.length))
      return Promise.resolve(notBegun('limit'));
    return new Promise((resolve) => {
      const pending = new Pending(request, performance.now() + left, resolve);
      this.#watch(pending);
      if (request.body.length > INLINE_MAX_BYTES) void this.#putBody(pending);
      else this.#dispatch(pending);
    });
  }

  /** Gives up all that is in hand, as expired. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#hearing.close();
    const open = new Set([...this.#tries.values()].map(({ pending }) => pending));
    for (const cls of REQUEST_CLASSES) for (const pending of this.#lines[cls]) open.add(pending);
    for (const pending of open) this.#settle(pending, pending.expired('closed'));
    if (!this.#bus.connection.isClosed()) for (const stop of this.#stops) stop();
  }

  async #putBody(pending: Pending): Promise<void> {
    try {
      pending.reference = await putBody(this.#bus, 'req', pending.request.body);
    } catch {
      // Nowhere to put it: the peer will send it again, and that may then go well.
      this.#settle(pending, pending.expired('body'));
      return;
    }
    if (this.#closed) this.#settle(pending, pending.expired('closed'));
    else if (!pending.settled) this.#dispatch(pending);
  }

  /**
   * Sends to a worker, or lets it line up until one has room: false. One in line keeps its place.
   */
  #dispatch(pending: Pending): boolean {
    const { request } = pending;
    const now = performance.now();
    // Nobody else came: those that were tried and are alive may have it again.
    if (now - pending.linedUpAt > CLAIM_MS) pending.tried.clear();
    const worker =
      this.#bus.status === 'connected'
        ? this.#board.choose(request.class, pending.tried, now)
        : undefined;
    if (worker === undefined) {
      pending.linedUpAt = Math.min(pending.linedUpAt, now);
      this.#lines[request.class].add(pending);
      return false;
    }
    this.#lines[request.class].remove(pending);
    if (pending.tried.size > 0) this.#retries++;
    const slot = (this.#next++).toString(36);
    pending.slots.push(slot);
    pending.current = slot;
    pending.tried.add(worker.id);
    pending.linedUpAt = Infinity;
    pending.lapsesAt = now + CLAIM_MS;
    this.#tries.set(slot, { pending, worker: worker.id });
    this.#board.count(worker.id, request.class, 1);
    const subject = subjects.request(request.class, worker.id);
    this.#requests.add(subject, slot, pending.pack(this.#host));
    return true;
  }

  #hear(slot: string, word: WorkerWord): void {
    const attempt = this.#tries.get(slot);
    if (word.kind === 'ask-grant') return this.#grant(slot);
    if (attempt === undefined) return;
    const { pending } = attempt;
    switch (word.kind) {
      case 'refuse':
        // It had no room, or was leaving; once it announces itself again it may have some.
        this.#board.refused(attempt.worker, pending.request.class);
        pending.tried.delete(attempt.worker);
        return this.#over(slot);
      case 'drop':
        return this.#settle(pending, { kind: 'drop' });
      case 'reply': {
        const trace = word.trace === undefined ? {} : { trace: word.trace };
        return this.#settle(pending, { kind: 'reply', body: word.body, ...trace });
      }
      case 'reply-elsewhere':
        void this.#fetch(pending, slot, word.reference, word.trace);
    }
  }

  /** A worker has a request, or still has it. */
  #claimed(slot: string): void {
    const pending = this.#tries.get(slot)?.pending;
    if (pending === undefined) return;
    if (pending.current === undefined) {
      // It was given up and lines up for another worker, but the first is at work after all.
      this.#lines[pending.request.class].remove(pending);
      pending.current = slot;
    }
    if (pending.current === slot) pending.lapsesAt = performance.now() + CLAIM_MS;
    // Another one has it now: who has not begun with it need not.
    else this.#tell(slot, false);
  }

  #grant(slot: string): void {
    const pending = this.#tries.get(slot)?.pending;
    const granted = pending !== undefined && pending.current === slot;
    if (granted) pending.once = true;
    this.#tell(slot, granted);
  }

  #tell(slot: string, granted: boolean): void {
    const worker = this.#tries.get(slot)?.worker;
    if (worker === undefined) return;
    const word = `${this.id}.${slot} ${granted ? 1 : 0}`;
    this.#bus.connection.publish(subjects.grant(worker), word);
  }

  async #fetch(pending: Pending, slot: string, reference: string, trace?: string): Promise<void> {
    if (pending.fetching) return;
    pending.fetching = true;
    try {
      const body = await getBody(this.#bus, 'rep', reference);
      const noted = trace === undefined ? {} : { trace };
      this.#settle(pending, { kind: 'reply', body, ...noted });
    } catch {
      // The reply was made and is lost: a second try gets the same one, by its id.
      pending.fetching = false;
      if (pending.current === slot) this.#over(slot);
    }
  }

  #lapse(slot: string): void {
    const worker = this.#tries.get(slot)?.worker;
    if (worker !== undefined) this.#board.suspect(worker);
    this.#over(slot);
  }

  /** One try is over without an answer. */
  #over(slot: string): void {
    const attempt = this.#tries.get(slot);
    if (attempt === undefined) return;
    const { pending } = attempt;
    if (pending.settled || pending.current !== slot) return;
    if (pending.once) {
      this.#settle(pending, pending.expired('lapsed'));
      return;
    }
    pending.current = undefined;
    this.#dispatch(pending);
  }

  #watch(pending: Pending): void {
    const now = performance.now();
    const until = Math.min(pending.deadline, pending.current ? pending.lapsesAt : Infinity);
    pending.timer = this.#bus.wheel.set(Math.min(until - now, CLAIM_MS), () => {
      if (pending.settled) return;
      const at = performance.now();
      if (at >= pending.deadline) {
        this.#settle(pending, pending.expired('deadline'));
        return;
      }
      const { current } = pending;
      const lapsed = current !== undefined && !pending.fetching && at >= pending.lapsesAt;
      if (lapsed && this.#hearing.silenceCounts(at)) this.#lapse(current);
      if (!pending.settled) this.#watch(pending);
    });
  }

  #hearAnew(now: number): void {
    this.#board.hearAll(now);
    if (this.#bus.status !== 'connected') return;
    publish(this.#bus.connection, subjects.hello, '');
    for (const cls of REQUEST_CLASSES) this.#pump(cls);
  }

  /** Sends those that line up, as far as workers have room. */
  #pump(cls: RequestClass): void {
    for (const pending of this.#lines[cls]) {
      const sent = this.#dispatch(pending);
      // Nobody has room for one that anybody may have; so nobody has for the rest.
      if (!sent && pending.tried.size === 0) return;
    }
  }

  #settle(pending: Pending, outcome: RequestOutcome): void {
    if (!pending.settle(outcome)) return;
    const cls = pending.request.class;
    if (outcome.kind === 'expired') this.#expired++;
    this.#inHand.give(cls, pending.request.body.length);
    if (pending.current === undefined) this.#lines[cls].remove(pending);
    for (const slot of pending.slots) {
      const worker = this.#tries.get(slot)?.worker;
      this.#tries.delete(slot);
      if (worker !== undefined) this.#board.count(worker, cls, -1);
    }
    if (this.#lines[cls].size > 0) this.#pump(cls);
  }
}
