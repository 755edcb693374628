import type { ReturnRow } from '../save/rows.ts';
import { SEPARATOR } from './count-labels.ts';
import type { Counting } from './counting.ts';

/** A return that stands for all of its function and bucket of duration. */
export interface DurationExample {
  readonly jid: string;
  readonly ms: number;
  /** Unix ms. */
  readonly at: number;
}

/** The last return seen of each function and bucket; both are bounded, so this is. */
export class DurationExamples {
  readonly #byLabels = new Map<string, DurationExample>();

  note({ row, counting }: { readonly row: ReturnRow; readonly counting: Counting }): void {
    if (counting.duration === undefined) return;
    const example = { jid: row.jid, ms: counting.amount, at: row.receivedAt };
    this.#byLabels.set(counting.duration.join(SEPARATOR), example);
  }

  of(fun: string, bucket: number): DurationExample | undefined {
    return this.#byLabels.get(`${fun}${SEPARATOR}${bucket}`);
  }
}
