import { backoffMs } from '@brine/tasks';
import { REQUEST_CLASSES, type RequestClass } from '../subjects/names.ts';
import type { Asker } from './pending-request.ts';
import type { Pending, RequestToSend } from './pending-request.ts';
import { extraClaimMs } from './request-frame.ts';

/** An asker that two workers were lost to. */
export interface Stall {
  /** A refused request; the others are only counted. */
  readonly request: RequestToSend;
  /** The number of its requests that are refused. */
  readonly requests: number;
  readonly workers: readonly string[];
}

/** Workers that may fall silent with the requests of one asker. */
const MAX_SILENT = 2;
/**
 * A worker that sends something again within this time was only slow, in ms: machines that are
 * starved of their processors stop all their processes for a second or two.
 */
const SLOW_MS = 2_000;
/** Workers that were silent for so long have stalled or died, in ms. */
const STALLED_MS = 5_000;
/**
 * How long an asker rests after two workers were lost to it: each time twice as long, in ms. The
 * first time may be chance, and the third try of a minion has to come through.
 */
const RESTS = { firstMs: 2_000, longestMs: 300_000 };
/** How long after a rest an asker is remembered, in ms. */
const KNOWN_MS = 300_000;
/** Requests of one asker that may wait for the outcome of its first ones. */
const MAX_WAITING_OF_ONE = 256;
/** Suspects that have to go well for one more to go at the same time. */
const WELL_FOR_ONE_MORE = 32;
const MAX_KNOWN = 10_000;
/** How often old askers are forgotten, in ms. */
const FORGET_MS = 1_000;

/** The number of suspects at a time. */
interface Gate {
  out: number;
  /** Suspects that went well since the last one that did not. */
  well: number;
}

/**
 * Limits the harm of a request that blocks the event loop of its worker, or ends it. Without this
 * it would take down one worker after the other; with it, two at most.
 *
 * All requests of a silent worker are suspects. They continue with at most one suspect at a worker,
 * so only the culprit meets a second worker that falls silent. All requests in flight of one asker
 * go to one worker, and wait while another of its requests is suspected. So an asker costs two
 * workers however many it sends. Then it rests, each time longer, and its requests are left
 * unanswered meanwhile.
 *
 * Not counted: a worker that announces that it leaves, a worker that soon sends something again,
 * and silence while this process can not receive.
 */
export class Suspects {
  readonly #askers = new Map<string, Asker>();
  /** The remembered askers. */
  readonly #known = new Set<Asker>();
  #forgotAt = -Infinity;
  /** By worker, the askers that it fell silent with, until it sends something. */
  readonly #silentWith = new Map<string, Set<Asker>>();
  /** The suspect that a worker has, or fell silent with. */
  readonly #suspectAt = new Map<string, Pending>();
  readonly #gates: Readonly<Record<RequestClass, Gate>> = {
    auth: { out: 0, well: 0 },
    clear: { out: 0, well: 0 },
    aes: { out: 0, well: 0 },
  };
  readonly #waiting: Readonly<Record<RequestClass, Set<Pending>>> = {
    auth: new Set(),
    clear: new Set(),
    aes: new Set(),
  };
  readonly #onFree: (pending: Pending) => void;
  readonly #onStalled: (stall: Stall) => void;
  readonly #workers: () => number;
  readonly #soon: (act: () => void) => void;
  #isFreeDue = false;
  #stalled = 0;
  #resting = 0;

  /**
   * `onFree`: a waiting request may be sent. `onStalled`: called once for each asker that two
   * workers were lost to. `workers`: how many accept requests. `soon` calls its argument once the
   * loop has processed the pending messages.
   */
  constructor(
    onFree: (pending: Pending) => void,
    onStalled: (stall: Stall) => void = () => undefined,
    workers: () => number = () => Infinity,
    soon: (act: () => void) => void = setImmediate,
  ) {
    this.#onFree = onFree;
    this.#onStalled = onStalled;
    this.#workers = workers;
    this.#soon = soon;
  }

  /** `stalled`: requests that were refused. `resting`: those of resting askers, turned away. */
  get stats(): { readonly stalled: number; readonly resting: number } {
    return { stalled: this.#stalled, resting: this.#resting };
  }

  /** The waiting requests. */
  waiting(cls: RequestClass): ReadonlySet<Pending> {
    return this.#waiting[cls];
  }

  /** True if its asker rests, or has too many waiting already. */
  turnsAway({ asker: name, id }: RequestToSend, now: number): boolean {
    if (this.#known.size === 0) return false;
    const asker = this.#askers.get(name ?? id);
    if (asker === undefined) return false;
    const waits = asker.silent.size > 0 && asker.count >= MAX_WAITING_OF_ONE;
    const isAway = waits || now < asker.restsUntil;
    if (isAway) this.#resting += 1;
    return isAway;
  }

  /** Admits a request; returns its asker. */
  begins({ asker: name, id }: RequestToSend): Asker {
    const asker = this.#askers.get(name ?? id) ?? newAsker(name ?? id);
    asker.count += 1;
    this.#askers.set(asker.name, asker);
    return asker;
  }

  /** Keeps a request waiting if it must not be sent now, and returns true. */
  mustWait(pending: Pending, now: number): boolean {
    const { asker, struck, request } = pending;
    const { size } = asker.silent;
    const waits =
      size >= MAX_SILENT ||
      now < asker.restsUntil ||
      // Another request of its asker is tried first.
      (size > 0 && asker.struck > 0 && !struck) ||
      (struck && !pending.guarded && !this.#isOpen(this.#gates[request.class]));
    if (waits) this.#waiting[request.class].add(pending);
    return waits;
  }

  /** The workers that a request must not go to now: those already tried, or with a suspect. */
  notFor(pending: Pending): ReadonlySet<string> {
    if (!pending.struck || this.#suspectAt.size === 0) return pending.tried;
    const not = new Set(pending.tried);
    // Its own worker may have it again, such as a worker that refused it for want of room.
    for (const [worker, suspect] of this.#suspectAt) if (suspect !== pending) not.add(worker);
    return not;
  }

  /** A request goes to a worker. */
  goes(pending: Pending, worker: string): void {
    const { asker, struck, request } = pending;
    asker.worker = worker;
    this.#waiting[request.class].delete(pending);
    if (!struck) return;
    this.#clear(pending);
    this.#suspectAt.set(worker, pending);
    if (pending.guarded) return;
    pending.guarded = true;
    this.#gates[request.class].out += 1;
  }

  /** Its worker's loop has turned since it got the request, which is not to blame. */
  goesOn(pending: Pending): void {
    this.#waiting[pending.request.class].delete(pending);
    this.#clear(pending);
    if (pending.guarded) this.#release(pending, true);
  }

  /** A worker fell silent with a request. */
  lapsed(pending: Pending, worker: string, now: number): void {
    const { asker } = pending;
    const suspect = this.#suspectAt.get(worker) ?? pending;
    // The worker's event loop had turned with this one before the suspect came.
    if (pending.struck && suspect !== pending) return;
    if (!pending.struck) asker.struck += 1;
    pending.struck = true;
    asker.silent.add(worker);
    asker.silentAt = now;
    const silentWith = this.#silentWith.get(worker) ?? new Set();
    this.#silentWith.set(worker, silentWith.add(asker));
    this.#remember(asker, now);
    this.#release(pending, false);
  }

  /** A worker has sent something: it lives. */
  answered(worker: string, now: number): void {
    const suspect = this.#suspectAt.get(worker);
    if (suspect?.guarded === false) this.#clear(suspect);
    const askers = this.#silentWith.get(worker);
    this.#silentWith.delete(worker);
    for (const asker of askers ?? []) {
      const wereTwo = asker.silent.size >= MAX_SILENT;
      asker.silent.delete(worker);
      if (wereTwo && now - asker.silentAt >= SLOW_MS) this.#rest(asker, now);
    }
    this.#forget(now);
    this.#free();
  }

  /**
   * Sends requests that need not wait any more. Thousands may wait, and thousands of messages may
   * come at a time: the requests are checked once for all of these.
   */
  #free(): void {
    if (this.#isFreeDue || REQUEST_CLASSES.every((cls) => this.#waiting[cls].size === 0)) return;
    this.#isFreeDue = true;
    this.#soon(() => {
      this.#isFreeDue = false;
      this.#lookThrough(performance.now());
    });
  }

  #lookThrough(now: number): void {
    for (const line of Object.values(this.#waiting)) {
      for (const pending of line) {
        if (this.mustWait(pending, now)) continue;
        line.delete(pending);
        this.#onFree(pending);
      }
    }
  }

  /** The requests to refuse with this one, once its asker has cost two workers. */
  refused(pending: Pending, now: number): readonly Pending[] {
    const { asker, request } = pending;
    const silentMs = now - asker.silentAt - extraClaimMs(request.body.length);
    const isClear = asker.silent.size >= MAX_SILENT && silentMs >= STALLED_MS;
    const waiting = this.#waiting[request.class];
    if (!isClear || !waiting.has(pending)) return [];
    const refused = [...waiting].filter((one) => one.asker === asker);
    const struck = refused.filter(isStruck);
    this.#stalled += struck.length;
    this.#onStalled({ request, workers: [...asker.silent], requests: struck.length });
    this.#pardon(asker);
    this.#rest(asker, now);
    return refused;
  }

  /** A request has ended; `well` if a worker answered it. */
  ends(pending: Pending, well: boolean): void {
    const { asker, request } = pending;
    this.#waiting[request.class].delete(pending);
    this.#clear(pending);
    if (pending.guarded) this.#release(pending, well);
    asker.count -= 1;
    if (pending.struck) asker.struck -= 1;
    if (well && asker.struck === 0) this.#pardon(asker);
    if (asker.count === 0 && !this.#known.has(asker)) this.#askers.delete(asker.name);
    if (pending.struck) this.#free();
  }

  /** Clears an asker of every worker's silence. */
  #pardon(asker: Asker): void {
    for (const worker of asker.silent) {
      const askers = this.#silentWith.get(worker);
      askers?.delete(asker);
      if (askers?.size === 0) this.#silentWith.delete(worker);
    }
    asker.silent.clear();
  }

  #forget(now: number): void {
    if (now - this.#forgotAt < FORGET_MS) return;
    this.#forgotAt = now;
    for (const asker of this.#known) {
      if (now >= asker.knownUntil && asker.count === 0) this.#forgetOne(asker);
    }
  }

  #forgetOne(asker: Asker): void {
    this.#pardon(asker);
    this.#known.delete(asker);
    this.#askers.delete(asker.name);
  }

  /** The request is no longer the suspect of a worker. */
  #clear(pending: Pending): void {
    for (const [worker, suspect] of this.#suspectAt) {
      if (suspect === pending) this.#suspectAt.delete(worker);
    }
  }

  /** A worker has one suspect at a time: more could only line up there, thousands of them. */
  #isOpen({ out, well }: Gate): boolean {
    const most = 1 + Math.floor(well / WELL_FOR_ONE_MORE);
    return out < most && (out === 0 || out < this.#workers());
  }

  #release(pending: Pending, well: boolean): void {
    if (!pending.guarded) return;
    pending.guarded = false;
    const gate = this.#gates[pending.request.class];
    gate.out -= 1;
    gate.well = well ? gate.well + 1 : 0;
    this.#free();
  }

  #rest(asker: Asker, now: number): void {
    asker.rests += 1;
    asker.restsUntil = now + backoffMs(RESTS, asker.rests);
    this.#remember(asker, asker.restsUntil);
  }

  #remember(asker: Asker, now: number): void {
    asker.knownUntil = now + KNOWN_MS;
    this.#known.add(asker);
    if (this.#known.size <= MAX_KNOWN) return;
    for (const oldest of this.#known) {
      if (oldest.count === 0) return this.#forgetOne(oldest);
    }
  }
}

/** The worker that has other requests of this asker. */
export function busyWith({ count, worker }: Asker): string | undefined {
  return count > 1 ? worker : undefined;
}

/** True if a worker fell silent with this request; sent again under its id, it is the same. */
export function isStruck({ struck, asker, request }: Pending): boolean {
  return struck || asker.name === request.id;
}

function newAsker(name: string): Asker {
  const none = { worker: undefined, silent: new Set<string>(), silentAt: 0 };
  return { name, count: 0, struck: 0, ...none, restsUntil: 0, rests: 0, knownUntil: 0 };
}
