import type {
  JobCache,
  JobRow,
  LogInRow,
  ReturnRow,
  SaveReport,
  SightingRow,
} from '@brine/job-cache';
import { JobCacheError } from '@brine/job-cache';
import type { Random } from './random.ts';
import { contentOf, hasFailed, isBefore, joined, sightingOf } from './store-rules.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A counted return. */
export interface KeptReturn {
  readonly row: ReturnRow;
  readonly content: string;
  readonly failed: boolean;
}

/** A job's row. */
export interface KeptJob {
  readonly row: JobRow;
  readonly origin: 0 | 2;
  /** How long it is waited for after its publication, and after each sight of it running. */
  readonly afterMs: number | undefined;
}

/** Where a minion stands in a job, as libs/job-cache/src/read/get-job.ts says. */
export interface SimLedger {
  readonly targeted: number;
  readonly waiting: number;
  readonly returned: number;
  readonly failed: number;
  readonly late: number;
  readonly never: number;
}

/** What a process tells the store of, with the end of that process. */
export interface StoreConnection {
  readonly cache: JobCache;
  end(): void;
}

/**
 * PostgreSQL with the job cache's tables: the same rule as save-jobs.ts, save-returns.ts and
 * settle-returns.ts, in memory. It can be away, and it can commit and lose the connection before it
 * says so.
 */
export class SimStore {
  readonly jobs = new Map<string, KeptJob>();
  /** By jid and minion. */
  readonly returns = new Map<string, Map<string, KeptReturn>>();
  readonly evidence = new Map<string, Set<string>>();
  /** The number that metrics show: each counted return adds 1, once. */
  counted = 0;
  /** Commits so far, for who looks at each moment. */
  onCommit: (jids: ReadonlySet<string>) => void = () => undefined;
  away = false;
  /** Of each job, when its minions were last seen running it. */
  readonly #running = new Map<string, Map<string, number>>();
  /** When each minion last logged in or returned. */
  readonly #lastHeard = new Map<string, number>();
  /** Share of the commits whose answer is lost. */
  lostAnswers = 0;
  readonly #time: VirtualTime;
  readonly #random: Random;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  /** A process's pool of connections. */
  connect(): StoreConnection {
    let isOver = false;
    const run = <T>(work: () => T): Promise<T> => this.#run(work, () => isOver);
    const cache = {
      saveJobs: (rows: readonly JobRow[]) => run(() => this.#saveJobs(rows)),
      saveReturns: (rows: readonly ReturnRow[]) => run(() => this.#saveReturns(rows)),
      saveSightings: (rows: readonly SightingRow[]) =>
        run(() => {
          this.#saveSightings(rows);
          return [];
        }),
      saveLogIns: (rows: readonly LogInRow[]) =>
        run(() => {
          for (const { id, at } of rows) this.#heard(id, at);
          return [];
        }),
      heardSince: (ids: readonly string[], sinceMs: number) =>
        run(() => ids.filter((id) => (this.#lastHeard.get(id) ?? -Infinity) >= sinceMs)),
      audit: { save: () => run(() => []) },
      outstanding: ({ sinceMs }: { sinceMs: number }) => run(() => this.#outstanding(sinceMs)),
      // There are no durable jobs here; publishers ask all the same.
      durable: { take: () => run(() => ({ task: undefined, open: 0 })) },
      adoptOrphans: () => run(() => 0),
      ensurePartitions: () => run(() => undefined),
      dropOlderThan: () => run(() => 0),
      connections: { idle: 0, busy: 0, waiting: 0 },
      isAlive: () => Promise.resolve(!this.away),
      close: () => Promise.resolve(),
    };
    return {
      cache: cache as unknown as JobCache,
      end: () => {
        isOver = true;
      },
    };
  }

  ledger(jid: string): SimLedger {
    const job = this.jobs.get(jid)?.row;
    const returns = this.returns.get(jid) ?? new Map<string, KeptReturn>();
    const deadline = job?.deadlineAt ?? Number.POSITIVE_INFINITY;
    const closed = deadline <= this.#time.wall;
    const tally = { waiting: 0, returned: 0, failed: 0, late: 0, never: 0 };
    const ids = new Set([...(job?.minions ?? []), ...returns.keys()]);
    for (const id of ids) {
      const kept = returns.get(id);
      if (kept === undefined) tally[closed ? 'never' : 'waiting'] += 1;
      else if (kept.row.receivedAt > deadline) tally.late += 1;
      else tally[kept.failed ? 'failed' : 'returned'] += 1;
    }
    return { targeted: ids.size, ...tally };
  }

  /** Work of some milliseconds; what a process began before its end may be done or not. */
  async #run<T>(work: () => T, isOver: () => boolean): Promise<T> {
    const never = new Promise<T>(() => undefined);
    await this.#time.sleep(this.#random.between(1, 12));
    if (isOver() && this.#random.chance(0.5)) return never;
    if (this.away) throw new JobCacheError('SALT_JOBCACHE_AWAY', 'the store is away');
    const result = work();
    await this.#time.sleep(this.#random.between(0, 3));
    if (isOver()) return never;
    if (this.#random.chance(this.lostAnswers)) {
      throw new JobCacheError('SALT_JOBCACHE_AWAY', 'the connection was lost after the commit');
    }
    return result;
  }

  #saveJobs(rows: readonly JobRow[]): SaveReport {
    let stored = 0;
    for (const row of rows) {
      const known = this.jobs.get(row.jid);
      const origin = row.bornOfReturn === true ? 2 : 0;
      if (known === undefined) stored += 1;
      const afterMs = row.deadlineAt === undefined ? undefined : row.deadlineAt - row.publishedAt;
      const next: KeptJob = { row, origin, afterMs };
      this.jobs.set(row.jid, known === undefined ? next : joined(known, next));
      this.#prolong(row.jid);
    }
    this.onCommit(new Set(rows.map(({ jid }) => jid)));
    return { stored, known: rows.length - stored, replaced: 0, refused: [] };
  }

  #heard(id: string, at: number): void {
    this.#lastHeard.set(id, Math.max(this.#lastHeard.get(id) ?? at, at));
  }

  #saveReturns(rows: readonly ReturnRow[]): SaveReport {
    let stored = 0;
    let replaced = 0;
    for (const row of rows) {
      this.#heard(row.id, row.receivedAt);
      const kept: KeptReturn = { row, content: contentOf(row.load), failed: hasFailed(row.load) };
      const ofJob = this.returns.get(row.jid) ?? new Map<string, KeptReturn>();
      this.returns.set(row.jid, ofJob);
      const known = ofJob.get(row.id);
      const sighting = sightingOf(row);
      if (sighting !== undefined) this.#saveSightings([sighting]);
      if (known === undefined) {
        ofJob.set(row.id, kept);
        this.counted += 1;
        stored += 1;
        continue;
      }
      const isFirst = isBefore({ ...row, origin: 0 }, { ...known.row, origin: 0 });
      if (isFirst) {
        ofJob.set(row.id, kept);
        replaced += 1;
      }
      if (known.content !== kept.content) this.#keepEvidence(isFirst ? known : kept);
    }
    this.onCommit(new Set(rows.map(({ jid }) => jid)));
    return { stored, known: rows.length - stored, replaced, refused: [] };
  }

  #saveSightings(rows: readonly SightingRow[]): void {
    for (const { jid, ids, kind, at } of rows) {
      if (kind !== 'running') continue;
      const seen = this.#running.get(jid) ?? new Map<string, number>();
      this.#running.set(jid, seen);
      for (const id of ids) seen.set(id, Math.max(seen.get(id) ?? 0, at));
      this.#prolong(jid);
    }
  }

  /** A targeted minion that was seen running it keeps a job open. */
  #prolong(jid: string): void {
    const job = this.jobs.get(jid);
    const { deadlineAt, minions = [] } = job?.row ?? {};
    if (job?.afterMs === undefined || deadlineAt === undefined) return;
    const seen = minions.map((id) => this.#running.get(jid)?.get(id) ?? 0);
    const last = Math.max(0, ...seen);
    if (last === 0) return;
    const until = Math.ceil(last / 1_000) * 1_000 + job.afterMs;
    this.jobs.set(jid, { ...job, row: { ...job.row, deadlineAt: Math.max(deadlineAt, until) } });
  }

  #keepEvidence({ row, content }: KeptReturn): void {
    const key = `${row.jid} ${row.id}`;
    const known = this.evidence.get(key) ?? new Set<string>();
    this.evidence.set(key, known.add(content));
  }

  #outstanding(sinceMs: number): { readonly jid: string; readonly waiting: readonly string[] }[] {
    const found: { jid: string; waiting: string[] }[] = [];
    for (const [jid, { row, origin }] of this.jobs) {
      const isOpen = (row.deadlineAt ?? Infinity) > this.#time.wall;
      if (origin !== 0 || row.publishedAt < sinceMs || !isOpen) continue;
      const waiting = row.minions.filter((id) => this.returns.get(jid)?.has(id) !== true);
      if (waiting.length > 0) found.push({ jid, waiting });
    }
    return found;
  }
}
