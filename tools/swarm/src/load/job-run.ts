import { compileGlob, matchMinion } from '@brine/target';
import type { PublishedJob } from '@brine/wire/load';
import type { LoadHead } from '../minions/sealed-request.ts';
import { Latencies, type LatencyData } from '../results/latencies.ts';

/** The data of one process about a job; times are of the monotonic clock. */
export interface JobReport {
  readonly reached: number;
  readonly reachedLast: number;
  readonly returned: number;
  readonly acknowledged: number;
  readonly lost: number;
  readonly resends: number;
  readonly ackedLast: number;
  /** From `sinceMs` to each acknowledgement. */
  readonly latencies: LatencyData;
}

/** One job in one process: the minions that received it and that answered, by local index. */
export class JobRun {
  readonly job: PublishedJob;
  readonly heads = new Map<string, LoadHead>();
  readonly #received: Float64Array;
  readonly #acked: Float64Array;
  readonly #returned: Uint8Array;
  #logged = 0;
  reached = 0;
  reachedLast = 0;
  returned = 0;
  acknowledged = 0;
  ackedLast = 0;
  lost = 0;
  resends = 0;
  /** Number of answers that are still to come or in flight. */
  open = 0;

  constructor(job: PublishedJob, minions: number) {
    this.job = job;
    this.#received = new Float64Array(minions);
    this.#acked = new Float64Array(minions);
    this.#returned = new Uint8Array(minions);
  }

  /** Records the publication; false for a minion that had it before. */
  receive(index: number, nowMs: number): boolean {
    if (this.#received[index] !== 0) return false;
    this.#received[index] = nowMs;
    this.reached += 1;
    this.reachedLast = nowMs;
    return true;
  }

  /** Records a return that is sent for the first time. */
  sent(index: number): void {
    if (this.#returned[index] !== 0) return;
    this.#returned[index] = 1;
    this.returned += 1;
  }

  /** Records an acknowledgement; the first one of each minion counts. */
  acknowledge(index: number, nowMs: number): void {
    if (this.#acked[index] !== 0) return;
    this.#acked[index] = nowMs;
    this.acknowledged += 1;
    this.ackedLast = nowMs;
  }

  /** Ranges of local indices that received it since the last call, for the log. */
  newlyReached(): [number, number][] {
    if (this.reached === this.#logged) return [];
    this.#logged = this.reached;
    const ranges: [number, number][] = [];
    let last: [number, number] | undefined;
    for (let index = 0; index < this.#received.length; index += 1) {
      const at = this.#received[index] as number;
      // A negative time was already reported.
      if (at <= 0) continue;
      this.#received[index] = -at;
      if (last?.[1] === index - 1) last[1] = index;
      else ranges.push((last = [index, index]));
    }
    return ranges;
  }

  /** The state of the job, with latencies counted from `sinceMs`. */
  report(sinceMs: number): JobReport {
    const latencies = new Latencies();
    for (const at of this.#acked) if (at !== 0) latencies.add(at - sinceMs);
    const { reached, reachedLast, returned, acknowledged, lost, resends, ackedLast } = this;
    return {
      reached,
      reachedLast,
      returned,
      acknowledged,
      lost,
      resends,
      ackedLast,
      latencies: latencies.data(),
    };
  }
}

/**
 * Compiles the target of a publication. Globs and lists are prepared once for all minions; the
 * simulated ones have no grains but their id, and no pillar.
 */
export function compileTarget(job: PublishedJob): (id: string) => boolean {
  const { tgt, tgtType, delimiter } = job;
  if (tgtType === 'glob' && tgt === '*') return () => true;
  if (tgtType === 'glob' && typeof tgt === 'string') return compileGlob(tgt);
  if (tgtType === 'list') {
    const ids = new Set(typeof tgt === 'string' ? tgt.split(',') : tgt);
    return (id) => ids.has(id);
  }
  const target = { tgt, tgtType, ...(delimiter === undefined ? {} : { delimiter }) };
  return (id) => matchMinion(target, { id, grains: { id }, pillar: {} });
}
