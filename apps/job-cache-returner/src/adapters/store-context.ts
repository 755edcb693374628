import type { JobCache } from '@brine/job-cache';
import type { Log, Telemetry } from '@brine/telemetry';
import type { Hold } from '../store/hold.ts';
import type { StoreCounts } from './store-counts.ts';

/** What taking jobs and returns needs. */
export interface StoreContext {
  readonly cache: JobCache;
  readonly hold: Hold;
  readonly telemetry: Pick<Telemetry, 'recordSpan'>;
  readonly log: Log;
  readonly counts: StoreCounts;
  /** Tells who waits for it of events that PostgreSQL has committed. */
  readonly committed: (seqs: readonly number[]) => void;
  /** Unix milliseconds, with a fraction. */
  readonly now: () => number;
}
