import type { SaltMap } from '@brine/wire';
import { JsonTranscoder } from '@brine/wire/text';
import type { Pool } from 'pg';
import pg from 'pg';
import { connectionOf, followFaults } from './connection/connection.ts';
import { isRefused } from './connection/errors.ts';
import { CountLabels } from './counters/count-labels.ts';
import { DurationExamples } from './counters/duration-examples.ts';
import { JobMemory } from './counts/job-memory.ts';
import { DurableJobs } from './durable/durable-jobs.ts';
import type { ExchangeKind } from './exchange/exchange-format.ts';
import { type ExportPage, exportRows } from './exchange/export-rows.ts';
import { type ImportCounts, importRows } from './exchange/import-rows.ts';
import { JobPages } from './pages/job-pages.ts';
import { Queues } from './queue/queues.ts';
import { type DatabaseFacts, readFacts } from './read/database-facts.ts';
import { endTime } from './read/end-time.ts';
import { getJid, type ReturnPage } from './read/get-jid.ts';
import { getJob, type JobWithLedger } from './read/get-job.ts';
import { getLoad } from './read/get-load.ts';
import { type JobAt, jobAt } from './read/job-at.ts';
import { getCounts, getLedger, type Ledger } from './read/ledger.ts';
import { type JobPage, listJobs, type ListJobsOptions } from './read/list-jobs.ts';
import { outstanding, type OutstandingJob } from './read/outstanding.ts';
import { ownJobs } from './read/own-jobs.ts';
import { QuarantineRows } from './read/quarantine-rows.ts';
import { type AskedReturn, storedReturns } from './read/returns-by-jid.ts';
import { seenSince } from './read/seen-since.ts';
import { silentMinions, type SilentPage } from './read/silent-minions.ts';
import { adoptOrphans } from './save/adopt-orphans.ts';
import { AuditRows } from './save/audit-rows.ts';
import type { Unfit } from './save/batch.ts';
import { SlowRows } from './save/batch.ts';
import { saveLogIns } from './save/log-ins.ts';
import { quarantine, type Refusal } from './save/quarantine.ts';
import type {
  JobRow,
  LogInRow,
  RefusedRow,
  ReturnRow,
  SaveReport,
  SightingRow,
} from './save/rows.ts';
import { saveJobs } from './save/save-jobs.ts';
import { saveReturns, type SavingState } from './save/save-returns.ts';
import { saveSightings } from './save/sightings.ts';
import { migrate } from './schema/migrate.ts';
import { Partitions } from './schema/partitions.ts';
import { archiveOlderThan, dropOlderThan } from './schema/retention.ts';

/** Options of {@link JobCache.connect}. */
export interface JobCacheOptions {
  /** Connections of writers at most; default 5: jobs, two groups of returns, maintenance. */
  readonly maxConnections?: number;
  /** Connections of questions at most; default 3. They have their own: no writer waits for them. */
  readonly maxReads?: number;
  /** How long a statement of a writer may run in the server, in ms; default 120,000. */
  readonly statementMs?: number;
  /** A question that takes longer fails, in ms; default 15,000. */
  readonly readMs?: number;
  /** Called with faults of idle connections. The pool replaces them by itself. */
  readonly onConnectionError?: (error: Error) => void;
  /** Minions with metrics of their own, at most; default 500, 0 for none. */
  readonly maxMinionLabels?: number;
  /** Called once when there are more minions than that. */
  readonly onMinionsFolded?: () => void;
  /** False: returns are counted, their content is not stored. Default true. */
  readonly keepReturns?: boolean;
  /** Unix ms; for tests. */
  readonly now?: () => number;
}

/** Minions that have series of their own by default. */
const MAX_MINION_LABELS = 500;
/** A statement may run this long in the server, in ms; a 50 MB return takes a few seconds. */
const STATEMENT_TIMEOUT_MS = 120_000;
/** A page of a question takes less than a second, and the workers wait 4 s (apps/worker-pool). */
const READ_TIMEOUT_MS = 15_000;
/**
 * The job cache in PostgreSQL. All writes are idempotent and commute: giving the same rows again,
 * in any order, from several processes, ends in the same tables. Every method throws JobCacheError;
 * `retryable` separates outages from faults of the program.
 */
export class JobCache {
  readonly #pool: Pool;
  readonly #reads: Pool;
  readonly #partitions: Partitions;
  readonly #state: SavingState;
  /** Returns of this process that serve as exemplars of the durations. */
  readonly durationExamples = new DurationExamples();
  /** The audit: acts on record. */
  readonly audit: AuditRows;
  /** Jobs that are sent again to minions that were unreachable. */
  readonly durable: DurableJobs;
  /** The rows in quarantine. */
  readonly quarantined: QuarantineRows;
  /** Pages of jobs and of their returns. */
  readonly pages: JobPages;
  /** The queues of the runner `queue`. */
  readonly queues: Queues;
  readonly #now: () => number;
  #closed: Promise<void> | undefined;

  private constructor(pool: Pool, reads: Pool, labels: CountLabels, options: JobCacheOptions) {
    this.#pool = pool;
    this.#reads = reads;
    this.#partitions = new Partitions(pool);
    const keepReturns = options.keepReturns ?? true;
    const [jobs, examples] = [new JobMemory(options.now), this.durationExamples];
    const transcoder = new JsonTranscoder();
    const [slow, slowJobs] = [new SlowRows(), new SlowRows()];
    this.#state = { jobs, labels, transcoder, examples, keepReturns, slow, slowJobs };
    this.audit = new AuditRows(pool, reads);
    this.quarantined = new QuarantineRows(pool, reads);
    this.pages = new JobPages(reads, pool);
    this.queues = new Queues(pool, reads);
    this.durable = new DurableJobs(pool, options.now ?? Date.now);
    this.#now = options.now ?? Date.now;
  }

  /**
   * Connects and brings the schema up to this release. Throws JobCacheError: SALT_JOBCACHE_AWAY
   * (try again), SALT_JOBCACHE_SCHEMA_NEWER, SALT_JOBCACHE_SCHEMA_CHANGED, SALT_JOBCACHE_MIGRATION.
   */
  static async connect(url: string, options: JobCacheOptions = {}): Promise<JobCache> {
    const open = (max: number, limitMs: number): Pool => {
      const pool = new pg.Pool({ ...connectionOf(url, limitMs), max });
      followFaults(pool, options.onConnectionError ?? (() => undefined));
      return pool;
    };
    const pool = open(options.maxConnections ?? 5, options.statementMs ?? STATEMENT_TIMEOUT_MS);
    const reads = open(options.maxReads ?? 3, options.readMs ?? READ_TIMEOUT_MS);
    const labels = new CountLabels(
      options.maxMinionLabels ?? MAX_MINION_LABELS,
      options.onMinionsFolded,
    );
    const cache = new JobCache(pool, reads, labels, options);
    try {
      await migrate(pool);
      // Without a day's partition its rows go to DEFAULT, so a refusal must not stop the store.
      await cache.#partitions.ensureAhead(cache.#now()).catch(passRefusal);
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

  /**
   * Stores sightings of minions of a job. A running minion prolongs the job. Resolves with the rows
   * that PostgreSQL refuses.
   */
  saveSightings(rows: readonly SightingRow[]): Promise<readonly Unfit<SightingRow>[]> {
    return saveSightings(this.#pool, rows);
  }

  /** Stores log-ins, the last 8 of each minion. Resolves with the rows that PostgreSQL refuses. */
  saveLogIns(rows: readonly LogInRow[]): Promise<readonly Unfit<LogInRow>[]> {
    return saveLogIns(this.#pool, rows);
  }

  /** Puts bytes that give no row into quarantine. */
  quarantine(refusal: Refusal, error: unknown): Promise<RefusedRow> {
    return quarantine(this.#pool, refusal, error);
  }

  /** The load of a job with `Minions`; undefined for an unknown jid. */
  getLoad(jid: string): Promise<SaltMap | undefined> {
    return getLoad(this.#reads, jid);
  }

  /** The counted returns of a job, a page at a time. */
  getJid(jid: string, options: { after?: string; limit?: number } = {}): Promise<ReturnPage> {
    return getJid(this.#reads, jid, options);
  }

  /** Everything known of a job, its ledger included; undefined for an unknown jid. */
  getJob(jid: string, options: { states?: boolean } = {}): Promise<JobWithLedger | undefined> {
    return getJob(this.#reads, jid, options);
  }

  /** How many minions of a job are in each state; all 0 for an unknown jid. */
  ledger(jid: string): Promise<Ledger> {
    return getLedger(this.#reads, jid);
  }

  /** The same of up to 500 jobs, for a page of them; an unknown jid has none. */
  counts(jids: readonly string[]): Promise<ReadonlyMap<string, Ledger>> {
    return getCounts(this.#reads, jids);
  }

  /** Facts about the PostgreSQL server, for people. Never rejects. */
  facts(): Promise<DatabaseFacts> {
    return readFacts(this.#reads);
  }

  /** Jobs, newest first, a page at a time. */
  listJobs(options: ListJobsOptions = {}): Promise<JobPage> {
    return listJobs(this.#reads, options);
  }

  /** Where a job stood at a moment, unix ms; undefined for an unknown jid. */
  jobAt(jid: string, atMs: number): Promise<JobAt | undefined> {
    return jobAt(this.#reads, jid, atMs);
  }

  /** Evidence about the silent minions of a job, or of `ids`; undefined for an unknown jid. */
  silentMinions(
    jid: string,
    options: { ids?: readonly string[]; after?: string; limit?: number } = {},
  ): Promise<SilentPage | undefined> {
    return silentMinions(this.#reads, jid, options);
  }

  /** The rows of one kind of a job as lines of a file of `jobs.export`, a page at a time. */
  exportRows(jid: string, kind: ExchangeKind, after?: string): Promise<ExportPage> {
    return exportRows(this.#reads, jid, kind, after);
  }

  /**
   * Imports a file of `jobs.export`, or a part that is a file of its own: all of it or nothing.
   * Throws ExchangeError with the line for a bad file.
   */
  importRows(file: string, linesBefore = 0): Promise<ImportCounts> {
    return importRows(this.#pool, file, linesBefore);
  }

  /** Published jobs since a time that still wait for minions. */
  outstanding(options: { sinceMs: number }): Promise<readonly OutstandingJob[]> {
    return outstanding(this.#reads, options);
  }

  /** For each of these, up to 1,000, whether a return of that job and minion is committed. */
  storedReturns(asked: readonly AskedReturn[]): Promise<readonly boolean[]> {
    return storedReturns(this.#reads, asked);
  }

  /** The time of the last return of a job, unix ms; undefined without returns. */
  endTime(jid: string): Promise<number | undefined> {
    return endTime(this.#reads, jid);
  }

  /** Those of these jobs that a user began. @throws RangeError for more than 500 jobs */
  ownJobs(user: string, jids: readonly string[]): Promise<readonly string[]> {
    return ownJobs(this.#reads, user, jids);
  }

  /** Filters up to 10,000 minions: those that logged in or returned since a time (unix ms). */
  seenSince(ids: readonly string[], sinceMs: number): Promise<readonly string[]> {
    return seenSince(this.#reads, ids, sinceMs);
  }

  /** Makes jobs for returns whose job did not come within `afterMs`; returns how many. */
  adoptOrphans(afterMs: number): Promise<number> {
    return adoptOrphans(this.#pool, afterMs);
  }

  /** Makes the partitions of the coming days. Call it at least once a day. */
  ensurePartitions(): Promise<void> {
    return this.#partitions.ensureAhead(this.#now());
  }

  /** Drops days that are older than a time (unix ms); returns the number of dropped partitions. */
  async dropOlderThan(beforeMs: number): Promise<number> {
    const dropped = await dropOlderThan(this.#pool, beforeMs);
    this.#state.jobs.clear();
    if (dropped > 0) this.#partitions.forget();
    return dropped;
  }

  /** As dropOlderThan, but days are moved to the schema brine_archive instead. */
  async archiveOlderThan(beforeMs: number): Promise<number> {
    const moved = await archiveOlderThan(this.#pool, beforeMs);
    this.#state.jobs.clear();
    if (moved > 0) this.#partitions.forget();
    return moved;
  }

  /** Connections to PostgreSQL, and calls that wait for one. */
  get connections(): { readonly idle: number; readonly busy: number; readonly waiting: number } {
    const pools = [this.#pool, this.#reads];
    const idle = sum(pools.map(({ idleCount }) => idleCount));
    const busy = sum(pools.map(({ totalCount }) => totalCount)) - idle;
    return { idle, busy, waiting: sum(pools.map(({ waitingCount }) => waitingCount)) };
  }

  /** True if PostgreSQL answers now. */
  async isAlive(): Promise<boolean> {
    try {
      await this.#pool.query('SELECT 1');
      return true;
    } catch {
      return false; // Every fault means the same to the caller: not now.
    }
  }

  /** Closes the connections once they are idle. Calling it again returns the same promise. */
  close(): Promise<void> {
    this.#closed ??= Promise.all([this.#pool.end(), this.#reads.end()]).then(() => undefined);
    return this.#closed;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function passRefusal(error: unknown): void {
  if (!isRefused(error)) throw error;
}

/** Restores the labels that earlier counts used, so that they are kept. */
async function learnLabels(pool: Pool, labels: CountLabels): Promise<void> {
  const { rows } = await pool.query<{ metric: string; labels: string }>(
    'SELECT DISTINCT metric, labels FROM brine.counters',
  );
  for (const row of rows) labels.learn(row.metric, row.labels);
}
