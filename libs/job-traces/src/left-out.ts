import type { SpanRecord } from '@brine/telemetry';

/** Without a return for so long, in ms, the returns of a job count as over. */
const SETTLED_MS = 2_000;

/** Counts the returns of one job without spans of their own, for one span that stands for them. */
export class LeftOut {
  #count = 0;
  #recorded = 0;
  #firstMs = 0;
  #lastMs = 0;
  #slowestMs = 0;

  get count(): number {
    return this.#count;
  }

  add(atMs: number, tookMs: number): void {
    if (this.#count === 0) {
      this.#firstMs = atMs;
      this.#slowestMs = 0;
    }
    this.#count += 1;
    if (atMs > this.#lastMs) this.#lastMs = atMs;
    if (tookMs > this.#slowestMs) this.#slowestMs = tookMs;
  }

  isSettled(nowMs: number): boolean {
    return this.#count > 0 && this.#lastMs + SETTLED_MS <= nowMs;
  }

  /** Makes one span for all of them, so that a trace shows its gaps; the count begins again. */
  take(jid: string, processId: string, parentPart: string | undefined): SpanRecord {
    const startMs = Math.min(this.#firstMs, this.#lastMs);
    const count = this.#count;
    this.#count = 0;
    this.#recorded += 1;
    return {
      name: 'returns left out',
      jid,
      part: `left-out.${processId}.${this.#recorded}`,
      parentPart,
      startMs,
      endMs: this.#lastMs,
      attributes: {
        'brine.left_out': count,
        'brine.slowest_ms': this.#slowestMs === 0 ? undefined : Math.round(this.#slowestMs),
      },
    };
  }
}
