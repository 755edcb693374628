import type { WheelTimer } from '../connection/timer-wheel.ts';
import type { RequestClass } from '../subjects/names.ts';
import { CLAIM_MS, extraClaimMs, packRequest, type RequestHead } from './request-frame.ts';

/** A minion or user that asks, and the workers that fell silent with its requests. */
export interface Asker {
  /** Its name. A request without one stands alone, under its id. */
  readonly name: string;
  /** Requests in hand. */
  count: number;
  /** Those of them with which a worker fell silent. */
  struck: number;
  /** The worker that got its last one. */
  worker: string | undefined;
  /** Workers that fell silent with one of these and have not been heard since. */
  readonly silent: Set<string>;
  /** When the last of these did. */
  silentAt: number;
  /** Until then none of its requests is sent. */
  restsUntil: number;
  rests: number;
  /** Until when this is remembered though none of its requests is in hand. */
  knownUntil: number;
}

/** A request on its way to a worker. */
export interface RequestToSend {
  /** The same whenever the same request is sent; all writes that it leads to are known by it. */
  readonly id: string;
  readonly class: RequestClass;
  readonly body: Uint8Array;
  /** The minion or user that asks: its share and its stalls are counted by it. */
  readonly asker?: string;
  /** The peer's address. */
  readonly peer?: string;
  /** It goes before the others of its class that wait. */
  readonly urgent?: boolean;
  /** Whether the peer has hung up: asked when its turn comes, and then it is not sent. */
  readonly isGone?: () => boolean;
  /** When it came, in ms since 1970 with a fraction; for the trace. */
  readonly receivedMs?: number;
  /** In ms since 1970. */
  readonly deadlineMs: number;
}

/**
 * What became of a request. `drop`: the worker wants no answer to be sent. `expired`: there is no
 * answer. `why` is `limit` if too much is in hand already, `lapsed` if the worker that took it for
 * once and all was lost, `stalled` if two workers that had it stalled or died. It is `rests` if its
 * asker has to rest after such a one, `body` if its body could not be put, `gone` if its peer has
 * hung up. `handed`: a worker may have had it, so it may have been done.
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

/** Of a request that no worker was asked to do. */
export function notBegun(why: Expiry): RequestOutcome {
  return { kind: 'expired', why, handed: false };
}

/** A request that has no outcome yet, with its tries. */
export class Pending {
  readonly request: RequestToSend;
  readonly asker: Asker;
  /** By the monotonic clock. */
  readonly deadline: number;
  /** The numbers of all its tries: an answer to an earlier one is as good. */
  readonly slots: string[] = [];
  /** The workers that were tried. */
  readonly tried = new Set<string>();
  /** The try that counts; none while it lines up. */
  current: string | undefined;
  lapsesAt = 0;
  /** Since when it has lined up; infinite while a worker has it. */
  linedUpAt = Infinity;
  /** It has been at a worker, or had its turn to be. */
  hadTurn = false;
  /** Since when the time that it takes is counted. */
  timedFrom: number | undefined;
  /** Where the body is, if not in the message. */
  reference: string | undefined;
  /** A worker may do it this once: no other is tried. */
  once = false;
  /** The reply was made and is being fetched. */
  fetching = false;
  /** The worker that has it was heard lately: should it fall silent, it did so with this. */
  wasHeard = false;
  /** A worker fell silent with it. */
  struck = false;
  /** It went as one of few suspects, and it is not known yet how that ends. */
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

  /** As it goes to a worker, from a gateway on `host`. */
  pack(host: string): Buffer {
    const { id, peer, receivedMs, body } = this.request;
    // By what is left, so that a clock that was set since then ends nothing.
    const deadlineMs = Math.round(Date.now() + this.deadline - performance.now());
    // What is undefined is left out of the JSON.
    const head = { id, host, deadlineMs, peer, receivedMs } as RequestHead;
    if (this.reference === undefined) return packRequest(head, body);
    return packRequest({ ...head, reference: this.reference }, new Uint8Array(0));
  }

  /** A worker has it from now on, until its claim lapses. */
  claim(now: number): void {
    this.lapsesAt = now + CLAIM_MS + extraClaimMs(this.request.body.length);
  }

  /** That there is no answer. */
  expired(why: Expiry): RequestOutcome {
    return { kind: 'expired', why, handed: this.slots.length > 0 };
  }

  /** Resolves it; false when that was done before. */
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
  /** It takes up room at its worker: not once that one refused it or fell silent with it. */
  takesRoom: boolean;
}

/** All tries of the requests that have no outcome yet, by their slots. */
export class Tries {
  readonly #of = new Map<string, Try>();
  #next = 0;

  /** Begins the try that counts from now on, and gives its slot. */
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

  /** The requests that were tried. */
  get pending(): readonly Pending[] {
    return [...this.#of.values()].map(({ pending }) => pending);
  }

  /** Ends all tries of a request; gives the workers at which it took up room. */
  end({ slots }: Pending): readonly string[] {
    return slots.flatMap((slot) => {
      const attempt = this.#of.get(slot);
      this.#of.delete(slot);
      return attempt?.takesRoom === true ? [attempt.worker] : [];
    });
  }
}
