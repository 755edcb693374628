import pg from 'pg';
import type { Pool } from 'pg';
import type { SaltMap } from '@brine/wire';
import { adoptOrphans } from './adopt-orphans.ts';
import { CountLabels } from './count-labels.ts';
import { DurationExamples } from './duration-examples.ts';
import { exportRows } from './export-rows.ts';
import type { ExportPage } from './export-rows.ts';
import type { ExchangeKind } from './exchange-format.ts';
import { getJid } from './get-jid.ts';
import type { ReturnPage } from './get-jid.ts';
import { getJob } from './get-job.ts';
import type { Job } from './get-job.ts';
import { getLoad } from './get-load.ts';
import { JidMemory } from './jid-memory.ts';
import { jobAt } from './job-at.ts';
import type { JobAt } from './job-at.ts';
import { listJobs } from './list-jobs.ts';
import type { JobPage, ListJobsOptions } from './list-jobs.ts';
import { saveLogIns } from './log-ins.ts';
import { migrate } from './migrate.ts';
import { outstanding } from './outstanding.ts';
import type { OutstandingJob } from './outstanding.ts';
import { Partitions } from './partitions.ts';
import { archiveOlderThan, dropOlderThan } from './retention.ts';
import { saveJobs } from './save-jobs.ts';
import { saveReturns } from './save-returns.ts';
import type { SavingState } from './save-returns.ts';
import { saveSightings } from './sightings.ts';
import type { JobRow, LogInRow, ReturnRow, SaveReport, SightingRow } from './rows.ts';
import { silentMinions } from './silent-minions.ts';
import type { SilentPage } from './silent-minions.ts';

/** Options of {@link JobCache.connect}. */
export interface JobCacheOptions {
  /** Connections at most; default 6: writers of jobs and of returns, and a few queries. */
  readonly maxConnections?: number;
  /** Gets faults of idle connections, which need no answer: the pool opens others. */
  readonly onConnectionError?: (error: Error) => void;
  /** Metrics count each minion by itself up to as many; default 500, 0 never. */
  readonly maxMinionLabels?: number;
  /** Told once when there are more minions than that. */
  readonly onMinionsFolded?: () => void;
  /** False: returns are counted and what they say is not kept. Default true. */
  readonly keepReturns?: boolean;
  /** Unix ms; for tests. */
  readonly now?: () => number;
}

/** Minions that have series of their own by default. */
const MAX_MINION_LABELS = 500;
/** Opening a connection may take this long, in ms. */
const CONNECT_TIMEOUT_MS = 5_000;
/** A statement may run this long in the server, in ms; a 50 MB return takes a few seconds. */
const STATEMENT_TIMEOUT_MS = 120_000;
/** After this long without an answer, in ms, the connection counts as dead. */
const QUERY_TIMEOUT_MS = 130_000;

/**
 * The job cache in PostgreSQL. All writes are idempotent and commute: giving the same rows again,
 * in any order, from several processes, ends in the same tables. Every method throws JobCacheError;
 * `retryable` tells an outage from a fault of ours.
 */
export class JobCache {
  readonly #pool: Pool;
  readonly #partitions: Partitions;
  readonly #state: SavingState;
  /** Returns of this process that stand for the durations of others. */
  readonly durationExamples = new DurationExamples();
  readonly #now: () => number;
  #closed: Promise<void> | undefined;

  private constructor(pool: Pool, labels: CountLabels, options: JobCacheOptions) {
    this.#pool = pool;
    this.#partitions = new Partitions(pool);
    const keepReturns = options.keepReturns ?? true;
    this.#state = { jids: new JidMemory(), labels, examples: this.durationExamples, keepReturns };
    this.#now = options.now ?? Date.now;
  }

  /**
   * Connects and brings the schema up to this release. Throws JobCacheError: SALT_JOBCACHE_AWAY
   * (try again), SALT_JOBCACHE_SCHEMA_NEWER, SALT_JOBCACHE_SCHEMA_CHANGED, SALT_JOBCACHE_MIGRATION.
   */
  static async connect(url: string, options: JobCacheOptions = {}): Promise<JobCache> {
    const pool = new pg.Pool({
      connectionString: url,
      max: options.maxConnections ?? 6,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      application_name: 'brine job-cache',
      keepAlive: true,
    });
    pool.on('error', options.onConnectionError ?? (() => undefined));
    const labels = new CountLabels(
      options.maxMinionLabels ?? MAX_MINION_LABELS,
      options.onMinionsFolded,
    );
    const cache = new JobCache(pool, labels, options);
    try {
      await migrate(pool);
      await cache.#partitions.ensureAhead(cache.#now());
      await learnLabels(pool, labels);
      return cache;
    } catch (error) {
      await cache.close();
      throw error;
    }
  }

  /** Stores jobs; resolves after the commit. */
  async saveJobs(rows: readonly JobRow[]): Promise<SaveReport> {
    await this.#partitions.ensureFor(rows, this.#now());
    return saveJobs(this.#pool, rows, this.#state);
  }

  /** Stores returns; resolves after the commit. A return may come before its job. */
  async saveReturns(rows: readonly ReturnRow[]): Promise<SaveReport> {
    await this.#partitions.ensureFor(rows, this.#now());
    return saveReturns(this.#pool, rows, this.#state);
  }

  /** Stores what was seen of minions of a job; who is seen running prolongs it. */
  saveSightings(rows: readonly SightingRow[]): Promise<void> {
    return saveSightings(this.#pool, rows);
  }

  /** Stores log-ins, of each minion the last 8. */
  saveLogIns(rows: readonly LogInRow[]): Promise<void> {
    return saveLogIns(this.#pool, rows);
  }

  /** The load of a job with `Minions`; undefined for an unknown jid. */
  getLoad(jid: string): Promise<SaltMap | undefined> {
    return getLoad(this.#pool, jid);
  }

  /** The counted returns of a job, a page at a time. */
  getJid(jid: string, options: { after?: string; limit?: number } = {}): Promise<ReturnPage> {
    return getJid(this.#pool, jid, options);
  }

  /** Everything known of a job, its ledger included; undefined for an unknown jid. */
  getJob(jid: string, options: { states?: boolean } = {}): Promise<Job | undefined> {
    return getJob(this.#pool, jid, options);
  }

  /** Jobs, newest first, a page at a time. */
  listJobs(options: ListJobsOptions = {}): Promise<JobPage> {
    return listJobs(this.#pool, options);
  }

  /** Where a job stood at a moment, unix ms; undefined for an unknown jid. */
  jobAt(jid: string, atMs: number): Promise<JobAt | undefined> {
    return jobAt(this.#pool, jid, atMs);
  }

  /** What is known of the silent minions of a job, or of `ids`; undefined for an unknown jid. */
  silentMinions(
    jid: string,
    options: { ids?: readonly string[]; after?: string; limit?: number } = {},
  ): Promise<SilentPage | undefined> {
    return silentMinions(this.#pool, jid, options);
  }

  /** The rows of one kind of a job as lines of a file of `jobs.export`, a page at a time. */
  exportRows(jid: string, kind: ExchangeKind, after?: string): Promise<ExportPage> {
    return exportRows(this.#pool, jid, kind, after);
  }

  /** Published jobs since a time that still wait for minions. */
  outstanding(options: { sinceMs: number }): Promise<readonly OutstandingJob[]> {
    return outstanding(this.#pool, options);
  }

  /** Makes jobs for returns whose job did not come within `afterMs`; returns how many. */
  adoptOrphans(afterMs: number): Promise<number> {
    return adoptOrphans(this.#pool, afterMs);
  }

  /** Makes the partitions of the coming days. Call it at least once a day. */
  ensurePartitions(): Promise<void> {
    return this.#partitions.ensureAhead(this.#now());
  }

  /** Forgets what is older than a time (unix ms); returns the number of dropped partitions. */
  async dropOlderThan(beforeMs: number): Promise<number> {
    const dropped = await dropOlderThan(this.#pool, beforeMs);
    if (dropped > 0) this.#partitions.forget();
    return dropped;
  }

  /** As dropOlderThan, but days are moved to the schema brine_archive instead. */
  async archiveOlderThan(beforeMs: number): Promise<number> {
    const moved = await archiveOlderThan(this.#pool, beforeMs);
    if (moved > 0) this.#partitions.forget();
    return moved;
  }

  /** Connections to PostgreSQL, and calls that wait for one. */
  get connections(): { readonly idle: number; readonly busy: number; readonly waiting: number } {
    const { idleCount, totalCount, waitingCount } = this.#pool;
    return { idle: idleCount, busy: totalCount - idleCount, waiting: waitingCount };
  }

  /** Whether PostgreSQL answers now. */
  async isAlive(): Promise<boolean> {
    try {
      await this.#pool.query('SELECT 1');
      return true;
    } catch {
      return false; // Any fault means the same to the caller: not now.
    }
  }

  /** Closes the connections after what is in hand. Calling it again returns the same promise. */
  close(): Promise<void> {
    this.#closed ??= this.#pool.end();
    return this.#closed;
  }
}

/** What was counted before keeps its labels. */
async function learnLabels(pool: Pool, labels: CountLabels): Promise<void> {
  const { rows } = await pool.query<{ metric: string; labels: string }>(
    'SELECT DISTINCT metric, labels FROM brine.counters',
  );
  for (const row of rows) labels.learn(row.metric, row.labels);
}
