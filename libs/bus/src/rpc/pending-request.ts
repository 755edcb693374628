import type { WheelTimer } from '../connection/timer-wheel.ts';
import type { RequestClass } from '../subjects/names.ts';
import { CLAIM_MS, extraClaimMs, packRequest, type RequestHead } from './request-frame.ts';

/** A minion or user that asks, and the workers that fell silent with its requests. */
export interface Asker {
  /** Its name. A request without a name counts alone, under its id. */
  readonly name: string;
  /** Requests in flight. */
  count: number;
  /** Those with which a worker fell silent. */
  struck: number;
  /** The worker that got its last one. */
  worker: string | undefined;
  /** Workers that fell silent with one of these and have sent nothing since. */
  readonly silent: Set<string>;
  /** When the last of these did. */
  silentAt: number;
  /** Until then none of its requests is sent. */
  restsUntil: number;
  rests: number;
  /** Until when it is remembered without a request in flight. */
  knownUntil: number;
}

/** A request on its way to a worker. */
export interface RequestToSend {
  /** The same whenever the same request is sent; all writes that it causes carry it. */
  readonly id: string;
  readonly class: RequestClass;
  readonly body: Uint8Array;
  /** The minion or user that asks: its share and its stalls are counted under this name. */
  readonly asker?: string;
  /** The peer's address. */
  readonly peer?: string;
  /** It goes before the other waiting requests of its class. */
  readonly urgent?: boolean;
  /** True if the peer has hung up. Called when its turn comes; the request is not sent then. */
  readonly isGone?: () => boolean;
  /** When it came, in ms since 1970 with a fraction; for the trace. */
  readonly receivedMs?: number;
  /** See {@link RequestHead.readsStore}. */
  readonly readsStore?: boolean;
  /** In ms since 1970. */
  readonly deadlineMs: number;
}

/**
 * The outcome of a request. `drop`: the worker wants no answer to be sent. `expired`: there is no
 * answer. Its `why` is one of:
 * - `limit`: too much is in flight already
 * - `lapsed`: the worker that had it as the only one was lost
 * - `stalled`: two workers that had it stalled or died
 * - `rests`: its asker has to rest after such a stall
 * - `body`: its body could not be stored
 * - `gone`: its peer has hung up
 *
 * `handed`: a worker may have had it, so it may have been done.
 */
export type RequestOutcome =
  | { readonly kind: 'reply'; readonly body: Uint8Array; readonly trace?: string }
  | { readonly kind: 'drop' }
  | {
      readonly kind: 'expired';
      readonly why:
        'deadline' | 'limit' | 'lapsed' | 'stalled' | 'rests' | 'body' | 'gone' | 'closed';
      readonly handed: boolean;
    };

/** Why there is no answer. */
export type Expiry = Extract<RequestOutcome, { kind: 'expired' }>['why'];

/** The outcome of a request that no worker was asked to do. */
export function notBegun(why: Expiry): RequestOutcome {
  return { kind: 'expired', why, handed: false };
}

/** A request that has no outcome yet, with its tries. */
export class Pending {
  readonly request: RequestToSend;
  readonly asker: Asker;
  /** By the monotonic clock. */
  readonly deadline: number;
  /** The numbers of all its tries: an answer to an earlier try is valid too. */
  readonly slots: string[] = [];
  /** The workers that were tried. */
  readonly tried = new Set<string>();
  /** The current try; undefined while it lines up. */
  current: string | undefined;
  lapsesAt = 0;
  /** Since when it has lined up; infinite while a worker has it. */
  linedUpAt = Infinity;
  /** It has been at a worker, or had its turn. */
  hadTurn = false;
  /** Start of the time that is counted for it. */
  timedFrom: number | undefined;
  /** The reference of a body that is not in the message. */
  reference: string | undefined;
  /** Try one worker only; do not retry on another. */
  once = false;
  /** The reply was made and is being fetched. */
  fetching = false;
  /** Its worker has sent something lately: if it falls silent, this request is suspect. */
  hasLiveWorker = false;
  /** A worker fell silent with it. */
  struck = false;
  /** It was sent as one of few suspects, and has no outcome yet. */
  guarded = false;
  timer: WheelTimer | undefined;
  readonly #resolve: (outcome: RequestOutcome) => void;
  #settled = false;

  constructor(
    request: RequestToSend,
    asker: Asker,
    deadline: number,
    resolve: (outcome: RequestOutcome) => void,
  ) {
    this.request = request;
    this.asker = asker;
    this.deadline = deadline;
    this.#resolve = resolve;
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** Packs it for a worker, from a gateway on `host`. */
  pack(host: string): Buffer {
    const { id, peer, receivedMs, readsStore, body } = this.request;
    // Computed from the time left, so that setting the clock does not end requests.
    const deadlineMs = Math.round(Date.now() + this.deadline - performance.now());
    // Undefined fields are left out of the JSON.
    const head = { id, host, deadlineMs, peer, receivedMs, readsStore } as RequestHead;
    if (this.reference === undefined) return packRequest(head, body);
    return packRequest({ ...head, reference: this.reference }, new Uint8Array(0));
  }

  /** A worker has it from now on, until its claim lapses. */
  claim(now: number): void {
    this.lapsesAt = now + CLAIM_MS + extraClaimMs(this.request.body.length);
  }

  /** The outcome without an answer. */
  expired(why: Expiry): RequestOutcome {
    return { kind: 'expired', why, handed: this.slots.length > 0 };
  }

  /** Resolves it; false if it had an outcome already. */
  settle(outcome: RequestOutcome): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.timer?.clear();
    this.#resolve(outcome);
    return true;
  }
}

/** A request that was sent to a worker. */
export interface Try {
  readonly pending: Pending;
  readonly worker: string;
  /** It occupies room at its worker, until that worker refuses it or falls silent with it. */
  takesRoom: boolean;
}

/** All tries of the requests without an outcome, by their slots. */
export class Tries {
  readonly #of = new Map<string, Try>();
  #next = 0;

  /** Begins the current try, and returns its slot. */
  begin(pending: Pending, worker: string): string {
    const slot = (this.#next++).toString(36);
    pending.slots.push(slot);
    pending.current = slot;
    pending.tried.add(worker);
    this.#of.set(slot, { pending, worker, takesRoom: true });
    return slot;
  }

  get(slot: string): Try | undefined {
    return this.#of.get(slot);
  }

  /** The requests with a try. */
  get pending(): readonly Pending[] {
    return [...this.#of.values()].map(({ pending }) => pending);
  }

  /** Ends all tries of a request; returns the workers at which it occupied room. */
  end({ slots }: Pending): readonly string[] {
    return slots.flatMap((slot) => {
      const attempt = this.#of.get(slot);
      this.#of.delete(slot);
      return attempt?.takesRoom === true ? [attempt.worker] : [];
    });
  }
}
