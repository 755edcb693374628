import type { Certainty } from './certainty.ts';
import type { Inquiry, Minion } from './known.ts';

/** Which minions may be asked. */
export interface QuestionOptions {
  /** Minions may be asked where connections alone are not enough. */
  readonly asks: boolean;
  /** Whether the minion answers jobs. A syndic without a minion does not. */
  readonly answers: (id: string) => boolean;
}

/** Minions of one question. Each minion of its list starts a process for it. */
export const ASKED_AT_ONCE = 500;
/** Between two questions. */
const PAUSE_MS = 5_000;
/**
 * How long an answer is waited for after each try: a busy host may take minutes to start a process.
 * The last wait is short, because a minion that comes back in it is not asked again.
 */
const WAITS_MS = [15_000, 15_000, 30_000, 60_000, 15_000];
/** How often a silent minion is asked once more, because connections came. */
export const EXTRA_TRIES_MAX = 4;

/** Questions to minions, a bounded number at a time. */
export class Questions {
  readonly #certainty: Certainty;
  readonly #options: QuestionOptions;
  readonly #open = new Set<Inquiry>();
  #nextMs = -Infinity;
  #asked = 0;
  #strayMs = -Infinity;

  constructor(certainty: Certainty, options: QuestionOptions) {
    this.#certainty = certainty;
    this.#options = options;
  }

  /** Whether any minion may be asked. */
  get isAllowed(): boolean {
    return this.#options.asks;
  }

  /** Minions that wait to be asked, or to answer. */
  get open(): number {
    return this.#open.size;
  }

  /** Minions asked since the start; each time counts. */
  get asked(): number {
    return this.#asked;
  }

  mayAsk({ id }: Minion): boolean {
    return this.#options.asks && this.#options.answers(id);
  }

  /** Asks a minion for some minutes; one that is being asked is not asked twice. */
  ask(minion: Minion): Inquiry {
    return minion.inquiry ?? this.#begin(minion, 0);
  }

  /** Asks a minion once more that did not answer. */
  askOnceMore({ minion, extraTries }: Inquiry): Inquiry {
    return minion.inquiry ?? this.#begin(minion, WAITS_MS.length - 1, extraTries + 1);
  }

  /** The minion answered a question. True if it is one that is open. */
  answered(minion: Minion, atMs: number): boolean {
    const { inquiry } = minion;
    if (inquiry?.firstMs === undefined || atMs <= inquiry.firstMs) return false;
    this.#close(inquiry, 'answered');
    return true;
  }

  /** A connection came now that may be of any minion. */
  strayCame(): void {
    this.#strayMs = this.#certainty.now;
  }

  /** Whether the minion may still answer, or a connection of it may have come unreported. */
  isWaiting({ state, endMs }: Inquiry): boolean {
    return state === 'open' || (state === 'unanswered' && this.#certainty.knownMs < endMs);
  }

  /**
   * Whether a minion did not answer. A connection that came since it was asked may be its own: then
   * it is asked once more.
   */
  isSilent(asked: { inquiry: Inquiry | undefined }): boolean {
    const { inquiry } = asked;
    if (inquiry?.state !== 'unanswered' || this.isWaiting(inquiry)) return false;
    const { lastMs = -Infinity, extraTries } = inquiry;
    if (this.#strayMs < lastMs || extraTries === EXTRA_TRIES_MAX) return true;
    asked.inquiry = this.askOnceMore(inquiry);
    return false;
  }

  /** Asks this minion no more. */
  drop(minion: Minion): void {
    if (minion.inquiry !== undefined) this.#close(minion.inquiry, 'unanswered');
  }

  /** The minions to ask now. Those that were asked often enough are closed as unanswered. */
  take(): readonly Minion[] {
    const { now } = this.#certainty;
    const asked: Minion[] = [];
    const mayAsk = now >= this.#nextMs;
    for (const inquiry of this.#open) {
      const { lastMs, tries } = inquiry;
      if (lastMs !== undefined && now - lastMs < (WAITS_MS[tries - 1] ?? 0)) continue;
      if (tries >= WAITS_MS.length) {
        inquiry.endMs = now;
        this.#close(inquiry, 'unanswered');
        continue;
      }
      if (!mayAsk || asked.length === ASKED_AT_ONCE) continue;
      inquiry.tries += 1;
      inquiry.firstMs ??= now;
      inquiry.lastMs = now;
      asked.push(inquiry.minion);
    }
    if (asked.length > 0) this.#nextMs = now + PAUSE_MS;
    this.#asked += asked.length;
    return asked;
  }

  /** A question did not go out, or its answers may be lost: these tries do not count. */
  undo(minions: Iterable<Minion>): void {
    for (const { inquiry } of minions) {
      if (inquiry === undefined) continue;
      inquiry.tries = Math.max(0, inquiry.tries - 1);
      inquiry.lastMs = undefined;
    }
  }

  /** Answers may have been lost: all are asked from the start. */
  again(): void {
    for (const inquiry of this.#open) {
      inquiry.tries = 0;
      inquiry.firstMs = undefined;
      inquiry.lastMs = undefined;
    }
  }

  #begin(minion: Minion, tries: number, extraTries = 0): Inquiry {
    const begun: Inquiry = {
      minion,
      state: 'open',
      tries,
      firstMs: undefined,
      lastMs: undefined,
      endMs: -Infinity,
      extraTries,
    };
    minion.inquiry = begun;
    this.#open.add(begun);
    return begun;
  }

  #close(inquiry: Inquiry, state: 'answered' | 'unanswered'): void {
    inquiry.state = state;
    inquiry.minion.inquiry = undefined;
    this.#open.delete(inquiry);
  }
}
