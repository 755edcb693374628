import type { RefusedRow, SaveReport } from '@brine/job-cache';
import type { Counter, Histogram, Metrics } from '@brine/service';
import type { RefusedKind, StoreCounts } from '@brine/storing';
import type { Log } from '@brine/telemetry';

/** Bounds of the rows of a batch; 500 is the most. */
const BATCH_ROWS = [1, 2, 5, 10, 25, 50, 100, 200, 500];

/** Rows of one reason that are logged singly: a fault of the schema refuses all of them. */
const LOGGED_MAX = 10;

/** The numbers of the store: for /metrics, /status, and the log of refusals. */
export class StoreMetrics implements StoreCounts {
  readonly #stored: Counter;
  readonly #known: Counter;
  readonly #refused: Counter;
  readonly #replaced: Counter;
  readonly #seconds: Histogram;
  readonly #rows: Histogram;
  readonly #log: Log;
  readonly #logged = new Map<string, number>();
  readonly #totals = { jobs: 0, returns: 0, known: 0, refused: 0 };

  constructor(metrics: Metrics, log: Log) {
    this.#log = log;
    this.#stored = metrics.counter('brine_store_rows_total', 'Rows stored, by kind.');
    this.#known = metrics.counter(
      'brine_store_known_rows_total',
      'Rows that were there already: delivered again, resent, or evidence.',
    );
    this.#refused = metrics.counter(
      'brine_store_refused_rows_total',
      'Rows that PostgreSQL refused; they are in brine.quarantine.',
    );
    this.#replaced = metrics.counter(
      'brine_store_replaced_returns_total',
      'Returns that took the place of a later one; they stay counted as that was.',
    );
    this.#rows = metrics.histogram('brine_store_batch_rows', 'Rows of a batch.', {
      buckets: BATCH_ROWS,
    });
    this.#seconds = metrics.histogram(
      'brine_store_batch_seconds',
      'Time from the first try of a batch to its commit, outages included.',
    );
  }

  /** The counts since the start. */
  get totals(): Readonly<Record<'jobs' | 'returns' | 'known' | 'refused', number>> {
    return this.#totals;
  }

  /** Counts a committed batch. */
  add(kind: 'jobs' | 'returns', report: SaveReport, seconds: number): void {
    this.#totals[kind] += report.stored;
    this.#totals.known += report.known;
    this.#stored.add(report.stored, { kind });
    this.#known.add(report.known, { kind });
    this.#replaced.add(report.replaced);
    this.#seconds.observe(seconds, { kind });
    this.#rows.observe(report.stored + report.known + report.refused.length, { kind });
    this.addRefused(kind, report.refused);
  }

  /** Counts rows that went into quarantine, and logs the first ones of each reason. */
  addRefused(kind: RefusedKind, refused: readonly RefusedRow[]): void {
    this.#totals.refused += refused.length;
    this.#refused.add(refused.length, { kind });
    for (const { jid, id, state } of refused) {
      const logged = this.#logged.get(`${kind} ${state}`) ?? 0;
      this.#logged.set(`${kind} ${state}`, logged + 1);
      if (logged >= LOGGED_MAX) continue;
      this.#log.error({ jid, minion: id, state }, 'a row was refused; it is in brine.quarantine');
    }
  }
}
