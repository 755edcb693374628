import type { RequestClass } from '../subjects/names.ts';
import { type ClassLimits, LIMITS } from './limits.ts';
import type { Pending, RequestToSend } from './pending-request.ts';

/** The requests of one class that a gateway has in flight. */
export interface ClassStats {
  readonly inFlight: number;
  readonly waiting: number;
  readonly bytes: number;
}

/** The requests of one class in flight. */
interface ClassInHand {
  count: number;
  bytes: number;
  /** Those that have had their turn, and are not done. */
  turns: number;
  /** Those without a worker; urgent ones go first. */
  readonly urgent: WaitingLine<Pending>;
  readonly usual: WaitingLine<Pending>;
}

/**
 * Decides for each request of a gateway: refuse it because too many are in flight, let it wait, or
 * send it. The numbers are in {@link LIMITS}.
 */
export class Admission {
  readonly #limits: Readonly<Record<RequestClass, ClassLimits>>;
  readonly #workers: () => number;
  readonly #inHand: Readonly<Record<RequestClass, ClassInHand>>;
  /** When the next request of a class that gives way may go. */
  #notBefore = 0;
  #refused = 0;
  #gaveWay = 0;

  /** `workers`: how many take requests. */
  constructor(
    workers: () => number,
    limits: Partial<Readonly<Record<RequestClass, ClassLimits>>> = {},
  ) {
    this.#workers = workers;
    this.#limits = { ...LIMITS.inHand, ...limits };
    const { auth, clear, aes } = this.#limits;
    this.#inHand = { auth: nothing(auth), clear: nothing(clear), aes: nothing(aes) };
  }

  /** `refused`: by a limit. `gaveWay`: went alone, because sealed requests were pressing. */
  get stats(): { readonly refusedByLimit: number; readonly gaveWay: number } {
    return { refusedByLimit: this.#refused, gaveWay: this.#gaveWay };
  }

  /** The state of a class; `apart` of its requests wait elsewhere. */
  statsOf(cls: RequestClass, apart: number): ClassStats {
    const { count, bytes, urgent, usual } = this.#inHand[cls];
    const waiting = urgent.size + usual.size + apart;
    return { inFlight: count - waiting, waiting, bytes };
  }

  /** Admits a request; false, and counted, if a limit forbids it. */
  take({ class: cls, body }: Pick<RequestToSend, 'class' | 'body'>): boolean {
    const inHand = this.#inHand[cls];
    const limits = this.#limits[cls];
    if (inHand.count >= limits.count || inHand.bytes + body.length > limits.bytes) {
      this.#refused += 1;
      return false;
    }
    inHand.count += 1;
    inHand.bytes += body.length;
    return true;
  }

  /** Releases an admitted request. */
  give(pending: Pending): void {
    const { class: cls, body } = pending.request;
    const inHand = this.#inHand[cls];
    inHand.count -= 1;
    inHand.bytes -= body.length;
    if (pending.hadTurn) inHand.turns -= 1;
    this.leave(pending);
  }

  /** Lines a request up for a worker; it keeps its place if it waits already. */
  wait(pending: Pending, now: number): void {
    pending.linedUpAt = Math.min(pending.linedUpAt, now);
    this.#lineOf(pending).add(pending);
  }

  /** Removes a request from its line. */
  leave(pending: Pending): void {
    this.#lineOf(pending).remove(pending);
  }

  /** True if requests of a class wait. */
  isWaiting(cls: RequestClass): boolean {
    const { urgent, usual } = this.#inHand[cls];
    return urgent.size + usual.size > 0;
  }

  /** The waiting requests, in the order in which they are to be served. */
  *waiting(cls: RequestClass): Generator<Pending, void> {
    yield* this.#inHand[cls].urgent;
    yield* this.#inHand[cls].usual;
  }

  /** True if requests of a class wait for their turns even while workers have room. */
  goesByTurns(cls: RequestClass): boolean {
    return this.#limits[cls].perWorker !== undefined;
  }

  /** True if it is this request's turn. A retry of a request that had its turn needs none. */
  isNext(pending: Pending, now: number): boolean {
    const { class: cls, urgent } = pending.request;
    const { perWorker } = this.#limits[cls];
    if (perWorker === undefined || pending.hadTurn) return true;
    const { turns } = this.#inHand[cls];
    if (turns >= perWorker * Math.max(1, this.#workers())) return false;
    return urgent === true || !this.isGivingWay(cls) || (turns === 0 && now >= this.#notBefore);
  }

  /** True if requests of a class go one by one now, because sealed requests are pressing. */
  isGivingWay(cls: RequestClass): boolean {
    const { givesWay } = this.#limits[cls];
    return givesWay !== undefined && this.#inHand.aes.count >= givesWay.atSealed;
  }

  /** A request goes to a worker. */
  goes(pending: Pending, now: number): void {
    const { class: cls, urgent } = pending.request;
    this.leave(pending);
    pending.linedUpAt = Infinity;
    if (pending.hadTurn) return;
    pending.hadTurn = true;
    pending.timedFrom ??= now;
    this.#inHand[cls].turns += 1;
    if (urgent === true || !this.isGivingWay(cls)) return;
    this.#gaveWay += 1;
    this.#notBefore = now + (this.#limits[cls].givesWay?.gapMs ?? 0);
  }

  #lineOf({ request }: Pending): WaitingLine<Pending> {
    const inHand = this.#inHand[request.class];
    return request.urgent === true ? inHand.urgent : inHand.usual;
  }
}

function nothing({ patienceMs }: ClassLimits): ClassInHand {
  const urgent = new WaitingLine<Pending>(patienceMs);
  return { count: 0, bytes: 0, turns: 0, urgent, usual: new WaitingLine(patienceMs) };
}

/** An entry of a line; the time is by the monotonic clock. */
export interface Waiting {
  readonly linedUpAt: number;
}

interface Link<T> {
  readonly item: T;
  older: Link<T> | undefined;
  newer: Link<T> | undefined;
}

/**
 * A line for places, oldest first. Once an entry has waited for `patienceMs`, the line is served
 * newest first until it is short again. By then the peers at its head have given up and asked again
 * (a stock minion after 5 to 10 s). In order, every answer would come too late, for ever. The
 * passed-over entries are served when there is room; their content is not lost.
 */
export class WaitingLine<T extends Waiting> {
  readonly #patienceMs: number;
  readonly #links = new Map<T, Link<T>>();
  #oldest: Link<T> | undefined;
  #newest: Link<T> | undefined;

  constructor(patienceMs = Infinity) {
    this.#patienceMs = patienceMs;
  }

  /** The entry that has waited longest; another may be served next. */
  get oldest(): T | undefined {
    return this.#oldest?.item;
  }

  get size(): number {
    return this.#links.size;
  }

  /** Adds an entry at the end, unless it is here; then it keeps its place. */
  add(item: T): void {
    if (this.#links.has(item)) return;
    const link: Link<T> = { item, older: this.#newest, newer: undefined };
    if (this.#newest === undefined) this.#oldest = link;
    else this.#newest.newer = link;
    this.#newest = link;
    this.#links.set(item, link);
  }

  remove(item: T): void {
    const link = this.#links.get(item);
    if (link === undefined) return;
    this.#links.delete(item);
    if (link.older === undefined) this.#oldest = link.newer;
    else link.older.newer = link.newer;
    if (link.newer === undefined) this.#newest = link.older;
    else link.newer.older = link.older;
  }

  /** In the order in which they are to be served; without those that are removed meanwhile. */
  *[Symbol.iterator](): Generator<T, void> {
    const patient = performance.now() - (this.#oldest?.item.linedUpAt ?? 0) < this.#patienceMs;
    let link = patient ? this.#oldest : this.#newest;
    while (link !== undefined) {
      const next: Link<T> | undefined = patient ? link.newer : link.older;
      if (this.#links.has(link.item)) yield link.item;
      link = next;
    }
  }
}
