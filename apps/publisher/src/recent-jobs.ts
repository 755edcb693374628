import type { JobRecord } from '@brine/bus';

/** One job that went out lately. */
export interface RecentJob {
  readonly jid: string;
  readonly seq: number;
  /** When the stream stored it, ms since 1970. */
  readonly timeMs: number;
  readonly notAfter: number;
  readonly hidden: boolean;
  /** How many jobs had gone out before it. */
  readonly index: number;
}

// What a window of 24 s looks at; at more jobs than this a minute nobody is sent anything again.
const MAX_JOBS = 5_000;
// Whole records, so that a job which is sent again need not be read again.
const MAX_RECORDS = 500;
const MAX_RECORD_BYTES = 32 * 1_048_576;

/** The jobs that were read off the stream lately, sent or not. */
export class RecentJobs {
  #jobs: RecentJob[] = [];
  readonly #records = new Map<number, JobRecord>();
  #recordBytes = 0;
  #count = 0;

  /** Jobs noted since the start. */
  get count(): number {
    return this.#count;
  }

  note(record: JobRecord, seq: number, timeUs: number): void {
    const { jid, notAfter, hidden } = record;
    const timeMs = Math.floor(timeUs / 1000);
    this.#jobs.push({ jid, seq, timeMs, notAfter, hidden, index: this.#count });
    this.#count += 1;
    if (this.#jobs.length > MAX_JOBS) this.#jobs = this.#jobs.slice(-MAX_JOBS / 2);
    this.#records.set(seq, record);
    this.#recordBytes += record.publication.length;
    this.#forgetRecords();
  }

  /** Jobs stored at or after this time. */
  since(timeMs: number): readonly RecentJob[] {
    return this.#jobs.filter((job) => job.timeMs >= timeMs);
  }

  /** How many jobs came after the one at this sequence; Infinity where that is not known here. */
  later(seq: number): number {
    const job = this.#jobs.findLast((one) => one.seq === seq);
    return job === undefined ? Infinity : this.#count - job.index - 1;
  }

  /** The record at a sequence, if it is still here. */
  record(seq: number): JobRecord | undefined {
    return this.#records.get(seq);
  }

  #forgetRecords(): void {
    while (this.#records.size > MAX_RECORDS || this.#recordBytes > MAX_RECORD_BYTES) {
      const oldest = this.#records.entries().next();
      if (oldest.done === true) return;
      const [seq, record] = oldest.value;
      this.#records.delete(seq);
      this.#recordBytes -= record.publication.length;
    }
  }
}
