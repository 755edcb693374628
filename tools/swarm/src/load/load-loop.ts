import { monotonicMs } from '../clock.ts';
import { Latencies, type LatencyData } from '../results/latencies.ts';

/** The end of a request. */
export type Outcome = 'answered' | 'refused' | 'timed-out';

/** Called once per request, never before `begin` has returned. */
export type Done = (outcome: Outcome, resent: number) => void;

/** A repeated request. */
export interface Work {
  /** Begins one request; false if no sender is free now. */
  readonly begin: (done: Done) => boolean;
}

/** Bounds of a loop in one process; see LoadOptions. */
export interface LoopOptions {
  readonly inFlight: number;
  readonly count: number;
  readonly durationMs: number;
  readonly ratePerSecond: number | undefined;
}

/** Results of a loop in one process. */
export interface LoopReport {
  readonly sent: number;
  readonly answered: number;
  readonly refused: number;
  readonly timedOut: number;
  readonly resent: number;
  readonly unsent: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly latencies: LatencyData;
}

const TICK_MS = 1;
/** Pause before the next try when no sender is free, in ms. */
const BUSY_MS = 1;

/**
 * Keeps requests in flight until the count or the time is reached. With a rate each request has a
 * due time, from which its latency counts, so that a slow answer does not hide the requests that
 * waited behind it.
 */
export class LoadLoop {
  readonly #work: Work;
  readonly #options: LoopOptions;
  readonly #latencies = new Latencies();
  readonly #startMs = monotonicMs();
  #resolve: (report: LoopReport) => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #sent = 0;
  #flying = 0;
  #answered = 0;
  #refused = 0;
  #timedOut = 0;
  #resent = 0;
  #lastMs = this.#startMs;
  #filling = false;

  constructor(work: Work, options: LoopOptions) {
    this.#work = work;
    this.#options = options;
  }

  /** Runs to the end: resolves when the last request has been answered or given up. */
  run(): Promise<LoopReport> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#fill();
    });
  }

  #fill(): void {
    if (this.#filling) return;
    this.#filling = true;
    const nowMs = monotonicMs();
    const { inFlight } = this.#options;
    let free = true;
    while (free && this.#flying < inFlight && this.#sent < this.#dueBy(nowMs)) {
      free = this.#begin(nowMs);
    }
    this.#filling = false;
    if (this.#isOver(nowMs)) {
      if (this.#flying === 0) this.#finish(nowMs);
      return;
    }
    // An answer refills by itself; the timer is for due times, and for busy senders.
    if (this.#flying === 0 || this.#options.ratePerSecond !== undefined || !free) {
      this.#timer ??= setTimeout(
        () => {
          this.#timer = undefined;
          this.#fill();
        },
        free ? TICK_MS : BUSY_MS,
      );
    }
  }

  /** Number of requests that are due. */
  #dueBy(nowMs: number): number {
    const { count, durationMs, ratePerSecond } = this.#options;
    const passed = nowMs - this.#startMs;
    if (ratePerSecond === undefined) return passed < durationMs ? count : 0;
    if (passed >= durationMs) return 0;
    return Math.min(count, Math.floor((passed / 1000) * ratePerSecond) + 1);
  }

  #isOver(nowMs: number): boolean {
    return this.#sent >= this.#options.count || nowMs - this.#startMs >= this.#options.durationMs;
  }

  #begin(nowMs: number): boolean {
    const rate = this.#options.ratePerSecond;
    const dueMs = rate === undefined ? nowMs : this.#startMs + (this.#sent / rate) * 1000;
    const begun = this.#work.begin((outcome, resent) => this.#end(dueMs, outcome, resent));
    if (!begun) return false;
    this.#sent += 1;
    this.#flying += 1;
    return true;
  }

  #end(dueMs: number, outcome: Outcome, resent: number): void {
    const nowMs = monotonicMs();
    this.#flying -= 1;
    this.#resent += resent;
    this.#lastMs = nowMs;
    if (outcome === 'answered') {
      this.#answered += 1;
      this.#latencies.add(nowMs - dueMs);
    } else if (outcome === 'refused') this.#refused += 1;
    else this.#timedOut += 1;
    this.#fill();
  }

  #finish(nowMs: number): void {
    clearTimeout(this.#timer);
    const { ratePerSecond, durationMs, count } = this.#options;
    const passed = Math.min(nowMs - this.#startMs, durationMs);
    const due = ratePerSecond === undefined ? this.#sent : (passed / 1000) * ratePerSecond;
    this.#resolve({
      sent: this.#sent,
      answered: this.#answered,
      refused: this.#refused,
      timedOut: this.#timedOut,
      resent: this.#resent,
      unsent: Math.max(0, Math.min(count, Math.floor(due)) - this.#sent),
      firstMs: this.#startMs,
      lastMs: this.#lastMs,
      latencies: this.#latencies.data(),
    });
  }
}
