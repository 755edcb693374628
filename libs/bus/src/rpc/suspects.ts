import { backoffMs } from '@brine/tasks';
import { REQUEST_CLASSES, type RequestClass } from '../subjects/names.ts';
import type { Asker } from './pending-request.ts';
import type { Pending, RequestToSend } from './pending-request.ts';
import { extraClaimMs } from './request-frame.ts';

/** Two workers that were lost to one asker. */
export interface Stall {
  /** One of the requests that are refused for it. */
  readonly request: RequestToSend;
  /** So many of its asker's are refused. */
  readonly requests: number;
  readonly workers: readonly string[];
}

/** So many workers may fall silent with the requests of one asker. */
const MAX_SILENT = 2;
/**
 * A worker that is heard again within this had only been slow, in ms: machines that are starved of
 * their processors stop all their processes for a second or two.
 */
const SLOW_MS = 2_000;
/** Workers that were silent for so long have stalled or died, in ms. */
const STALLED_MS = 5_000;
/**
 * How long an asker rests after two workers were lost to it: each time twice as long, in ms. The
 * first time it may have been chance, and the third try of a minion has to come through.
 */
const RESTS = { firstMs: 2_000, longestMs: 300_000 };
/** How long after a rest it is remembered, in ms. */
const KNOWN_MS = 300_000;
/** Requests of one asker that may wait until it is clear what became of its first ones. */
const MAX_WAITING_OF_ONE = 256;
/** So many suspects have to go well for one more to go at the same time. */
const WELL_FOR_ONE_MORE = 32;
const MAX_KNOWN = 10_000;
/** How often it is looked for askers to forget, in ms. */
const FORGET_MS = 1_000;

/** How many suspects go at a time. */
interface Gate {
  out: number;
  /** So many went well since the last one that did not. */
  well: number;
}

/**
 * A request that blocks the event loop of its worker, or ends it, would do so to one worker after
 * the other. So it is given to two at most. All that a silent worker had is suspected, and goes on
 * with no more than one suspect at a worker. So only the one to blame meets a second worker that
 * falls silent. What one asker has
 * in hand goes to one worker, and waits while another of its requests is suspected: it costs two
 * workers however many it sends. Then it rests, each time longer, and its requests are left
 * unanswered meanwhile.
 *
 * Not counted: a worker that says that it leaves, one that is heard again soon, and silence while
 * this process can not hear.
 */
export class Suspects {
  readonly #askers = new Map<string, Asker>();
  /** Those that are remembered. */
  readonly #known = new Set<Asker>();
  #forgotAt = -Infinity;
  /** By worker, the askers that it fell silent with and was not heard since. */
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
   * `onFree`: a request that waited may be sent. `onStalled`: called once for each asker that two
   * workers were lost to. `workers`: how many take requests. `soon` calls what it is given once the
   * loop has taken what is here.
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

  /** Requests that wait. */
  waiting(cls: RequestClass): ReadonlySet<Pending> {
    return this.#waiting[cls];
  }

  /** Whether its asker rests, or has too many waiting for one more. */
  turnsAway({ asker: name, id }: RequestToSend, now: number): boolean {
    if (this.#known.size === 0) return false;
    const asker = this.#askers.get(name ?? id);
    if (asker === undefined) return false;
    const waits = asker.silent.size > 0 && asker.count >= MAX_WAITING_OF_ONE;
    const isAway = waits || now < asker.restsUntil;
    if (isAway) this.#resting += 1;
    return isAway;
  }

  /** A request is taken in hand: gives its asker. */
  begins({ asker: name, id }: RequestToSend): Asker {
    const asker = this.#askers.get(name ?? id) ?? newAsker(name ?? id);
    asker.count += 1;
    this.#askers.set(asker.name, asker);
    return asker;
  }

  /** Keeps a request waiting that is not to be sent now: true. */
  mustWait(pending: Pending, now: number): boolean {
    const { asker, struck, request } = pending;
    const { size } = asker.silent;
    const waits =
      size >= MAX_SILENT ||
      now < asker.restsUntil ||
      // Another one of its asker is tried first.
      (size > 0 && asker.struck > 0 && !struck) ||
      (struck && !pending.guarded && !this.#isOpen(this.#gates[request.class]));
    if (waits) this.#waiting[request.class].add(pending);
    return waits;
  }

  /** The workers that a request must not go to now: those that were tried, or have a suspect. */
  notFor(pending: Pending): ReadonlySet<string> {
    if (!pending.struck || this.#suspectAt.size === 0) return pending.tried;
    const not = new Set(pending.tried);
    // Its own worker may have it again, such as one that refused it for want of room.
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

  /** Its worker has turned its loop since it has the request: that one is not to blame. */
  goesOn(pending: Pending): void {
    this.#waiting[pending.request.class].delete(pending);
    this.#clear(pending);
    if (pending.guarded) this.#release(pending, true);
  }

  /** A worker fell silent with a request. */
  lapsed(pending: Pending, worker: string, now: number): void {
    const { asker } = pending;
    const suspect = this.#suspectAt.get(worker) ?? pending;
    // The worker had turned its loop with this one before the suspect came.
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

  /** A worker is heard: it lives. */
  heard(worker: string, now: number): void {
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
   * Sends what waits for no reason any more. Thousands may wait, and as many words come at a time:
   * they are looked through once for all of these.
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

  /** What is refused with this request, once it is clear that its asker has lost us two workers. */
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

  /** A request has come to its end; `well` where a worker answered it. */
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

  /** No worker's silence is laid to it any more. */
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

  /** A worker has it no longer as its suspect. */
  #clear(pending: Pending): void {
    for (const [worker, suspect] of this.#suspectAt) {
      if (suspect === pending) this.#suspectAt.delete(worker);
    }
  }

  /** A worker has one suspect at a time: more could only line up, thousands of them. */
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

/** Whether a worker fell silent with this one; sent again under its id, it is the same. */
export function isStruck({ struck, asker, request }: Pending): boolean {
  return struck || asker.name === request.id;
}

function newAsker(name: string): Asker {
  const none = { worker: undefined, silent: new Set<string>(), silentAt: 0 };
  return { name, count: 0, struck: 0, ...none, restsUntil: 0, rests: 0, knownUntil: 0 };
}
