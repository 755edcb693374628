import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { asJobCacheError } from '../connection/errors.ts';

/** Targets in memory of all jobs together: about 70 MB if no two have the same name. */
const MAX_TARGETS = 1_000_000;
/** The weight of a job beside its targets, in targets: the entry and its set. */
const JOB_WEIGHT = 8;
/** Targets that one batch of returns loads. Returns of further jobs are in doubt. */
const MAX_LOADED = 200_000;
/** A job is read again at most so often, while returns are in doubt, in ms. */
const READ_EVERY_MS = 2_000;

/** A job in the database. Targets and deadline are those of publications: both only grow. */
interface KnownJob {
  readonly targets: ReadonlySet<string>;
  /** Unix ms; -Infinity without one. */
  readonly deadlineMs: number;
  readonly readAtMs: number;
}

/** Why a return is in doubt: its minion may be no target, or it may be late. */
export type Doubt =
  | { readonly may: 'be late' }
  /** It is none of the targets that are known here, `outside` of them. */
  | { readonly may: 'be unexpected'; readonly outside: number };

/** A return, as {@link JobMemory.doubt} judges it. */
interface Judged {
  readonly jid: string;
  readonly id: string;
  /** Unix ms. */
  readonly receivedAt: number;
}

const NO_TARGETS: ReadonlySet<string> = new Set();

const DEADLINE = 'extract(epoch FROM deadline_at)::float8 * 1000 AS deadline';

/** Only of publications: a row of another origin may lose its targets to one. */
const LOAD = `
SELECT jid, ${DEADLINE},
  CASE WHEN origin = 0 AND upto <= ${MAX_LOADED} THEN array_to_json(minions)::text END AS minions
FROM (
  SELECT jid, deadline_at, origin, minions, sum(targeted) OVER (ORDER BY targeted, jid) AS upto
  FROM brine.jobs WHERE jid = ANY ($1)
) AS one`;

const REFRESH = `
SELECT jid, ${DEADLINE}, targeted FROM brine.jobs WHERE jid = ANY ($1) AND origin = 0`;

interface LoadedColumns {
  readonly jid: string;
  readonly deadline: number | null;
  readonly minions: string | null;
}

/**
 * Jobs in the database, with targets and deadlines of published ones: so a return is stored as
 * expected and in time without a look at its job. It may know too little, but never too much.
 */
export class JobMemory {
  readonly #jobs: LRUCache<string, KnownJob>;
  readonly #now: () => number;
  readonly #maxTargets: number;

  /** @param now unix ms  @param maxTargets of all jobs together; for tests */
  constructor(now: () => number = Date.now, maxTargets = MAX_TARGETS) {
    this.#now = now;
    this.#maxTargets = maxTargets;
    this.#jobs = new LRUCache({
      maxSize: maxTargets,
      sizeCalculation: ({ targets }) => JOB_WEIGHT + targets.size,
    });
  }

  /** True if a row of the job is in the database. */
  has(jid: string): boolean {
    return this.#jobs.has(jid);
  }

  /** Notes a job that is in the database. */
  add(jid: string): void {
    this.addPublished(jid, [], undefined);
  }

  /** Notes a publication, or a part of one. @param deadlineAt unix ms; undefined without one */
  addPublished(jid: string, minions: readonly string[], deadlineAt: number | undefined): void {
    const known = this.#jobs.get(jid);
    const deadlineMs = Math.max(known?.deadlineMs ?? -Infinity, deadlineAt ?? -Infinity);
    const all = united(known?.targets ?? NO_TARGETS, minions);
    const targets = all.size + JOB_WEIGHT > this.#maxTargets ? NO_TARGETS : all;
    this.#jobs.set(jid, { targets, deadlineMs, readAtMs: this.#now() });
  }

  /** Forgets everything: jobs were dropped. */
  clear(): void {
    this.#jobs.clear();
  }

  /** The doubt about a return; undefined if it is of a target and in time, whatever comes. */
  doubt({ jid, id, receivedAt }: Judged): Doubt | undefined {
    const job = this.#jobs.get(jid);
    if (job?.targets.has(id) !== true) {
      return { may: 'be unexpected', outside: job?.targets.size ?? 0 };
    }
    return receivedAt <= job.deadlineMs ? undefined : { may: 'be late' };
  }

  /**
   * Reads the jobs of returns that are not known yet, or are in doubt and may have changed.
   * Resolves with the jids that have no job. Throws JobCacheError.
   */
  async load(pool: Pool, returns: readonly Judged[]): Promise<readonly string[]> {
    const asked = new Set<string>();
    const old = new Set<string>();
    const before = this.#now() - READ_EVERY_MS;
    let jid: string | undefined;
    let job: KnownJob | undefined;
    for (const row of returns) {
      // Most rows of a batch are of the job before them.
      if (row.jid !== jid) [jid, job] = [row.jid, this.#jobs.get(row.jid)];
      if (job === undefined) asked.add(row.jid);
      else if (job.readAtMs <= before && this.doubt(row) !== undefined) old.add(row.jid);
    }
    try {
      if (old.size > 0) await this.#refresh(pool, [...old]);
      if (asked.size > 0) await this.#loadJobs(pool, [...asked]);
    } catch (error) {
      throw asJobCacheError(error);
    }
    return [...asked].filter((jid) => !this.#jobs.has(jid)).sort();
  }

  async #loadJobs(pool: Pool, jids: readonly string[]): Promise<void> {
    const query = { name: 'load-jobs', text: LOAD, values: [jids] };
    const { rows } = await pool.query<LoadedColumns>(query);
    for (const { jid, deadline, minions } of rows) {
      if (minions === null) this.add(jid);
      else this.addPublished(jid, JSON.parse(minions) as string[], deadline ?? undefined);
    }
  }

  /** Running minions prolong deadlines, and other processes store further parts of a job. */
  async #refresh(pool: Pool, jids: readonly string[]): Promise<void> {
    const { rows } = await pool.query<{
      jid: string;
      deadline: number | null;
      targeted: number | null;
    }>({ name: 'refresh-jobs', text: REFRESH, values: [jids] });
    for (const { jid, deadline } of rows) this.addPublished(jid, [], deadline ?? undefined);
    const grown = rows.filter(
      ({ jid, targeted }) => targeted !== this.#jobs.get(jid)?.targets.size,
    );
    if (grown.length > 0)
      await this.#loadJobs(
        pool,
        grown.map(({ jid }) => jid),
      );
  }
}

function united(known: ReadonlySet<string>, more: readonly string[]): ReadonlySet<string> {
  if (more.every((id) => known.has(id))) return known;
  return new Set([...known, ...more]);
}
