import type { StoredOrigin } from '@brine/job';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { originOf } from '../read/get-job.ts';
import { globToRegex } from '../read/glob.ts';
import { getCounts, type Ledger } from '../read/ledger.ts';
import { jidText } from '../read/list-jobs.ts';

/** A job in a list. Times are unix ms. */
export interface JobLine {
  readonly jid: string;
  readonly fun: readonly string[];
  readonly tgt: readonly string[];
  readonly tgtType: string;
  readonly user: string;
  readonly principal: string;
  readonly origin: StoredOrigin;
  readonly hidden: boolean;
  readonly publishedAt: number;
  readonly deadlineAt: number | undefined;
  readonly ledger: Ledger;
}

/** How a job stands: it waits for minions, or not. */
export type JobState = 'open' | 'closed';

/** What a job came to: `ok` if each minion returned in time and none failed. */
export type JobResult = 'ok' | 'failed' | 'late' | 'never';

/** Selects jobs; a job has to meet all conditions. */
export interface JobFilter {
  /** Only jobs of this principal. */
  readonly principal?: string;
  /** A glob, or several, for one of its functions. */
  readonly fun?: string | readonly string[];
  /** A glob for its target. */
  readonly tgt?: string;
  readonly user?: string;
  /** A minion that was a target, or returned. */
  readonly minion?: string;
  readonly origin?: StoredOrigin;
  readonly state?: JobState;
  readonly result?: JobResult;
  /** Started at or after, unix ms. */
  readonly from?: number;
  /** Started before, unix ms. */
  readonly to?: number;
  /** Also find_job and the like. */
  readonly hidden?: boolean;
}

/** A page of jobs, newest first. */
export interface JobLines {
  readonly jobs: readonly JobLine[];
  /** Only jids below this one are left; undefined on the last page. */
  readonly next: string | undefined;
}

/** Jobs that are looked at together, where not all of them may be of the page. */
const CHUNK = 200;
/** A page that found less by then is short, and its `next` continues, ms. */
const SEARCH_MS = 250;

const LINES = `
SELECT jid, fun, tgt, tgt_type, "user", principal, hidden, origin, begun_by, incarnation,
  extract(epoch FROM published_at)::float8 * 1000 AS published_at,
  extract(epoch FROM deadline_at)::float8 * 1000 AS deadline_at, CASE
    WHEN NOT $3::boolean AND hidden THEN false
    WHEN $4::text IS NOT NULL AND principal <> $4 THEN false
    WHEN $5::text IS NOT NULL AND NOT EXISTS (SELECT FROM unnest(fun) AS one WHERE one ~ $5)
      THEN false
    WHEN $6::text IS NOT NULL AND NOT EXISTS (SELECT FROM unnest(tgt) AS one WHERE one ~ $6)
      THEN false
    WHEN $7::text IS NOT NULL AND "user" <> $7 THEN false
    WHEN $8::boolean AND deadline_at <= now() THEN false
    WHEN $9::text IS NOT NULL THEN EXISTS (
      SELECT FROM brine.returns r WHERE r.id = $9 AND r.jid = j.jid) OR $9 = ANY (minions)
    ELSE true END AS fits
FROM brine.jobs j WHERE jid < $1 AND jid >= $2 ORDER BY jid DESC LIMIT $10`;

interface Line {
  readonly jid: string;
  readonly fun: string[];
  readonly tgt: string[];
  readonly tgt_type: string;
  readonly user: string;
  readonly principal: string;
  readonly hidden: boolean;
  readonly origin: number;
  readonly begun_by: string | null;
  readonly incarnation: string;
  readonly published_at: number;
  readonly deadline_at: number | null;
  readonly fits: boolean;
}

/** Above each jid, in the order of bytes. */
const LAST = '~';

/**
 * Jobs that meet a filter, newest first, with their counts. A page of a rare match may be short or
 * empty; its `next` continues the search.
 * @param before only jids below it
 */
export async function jobLines(
  pool: Pool,
  filter: JobFilter,
  { limit, before }: { readonly limit: number; readonly before?: string },
): Promise<JobLines> {
  const untilMs = performance.now() + SEARCH_MS;
  const all = !isNarrow(filter);
  const found: JobLine[] = [];
  let last = before ?? endOf(filter);
  for (;;) {
    const asked = all ? limit + 1 : CHUNK;
    const rows = await select<Line>(pool, LINES, parametersOf(filter, last, asked));
    const lines = await counted(
      pool,
      rows.filter((row) => row.fits && isOf(row, filter)),
    );
    for (const line of lines) {
      if (!fits(line, filter)) continue;
      // One more than the page has: it is not the last.
      if (found.length === limit) return { jobs: found, next: found.at(-1)?.jid };
      found.push(line);
    }
    const end = rows.at(-1);
    if (end === undefined || rows.length < asked) return { jobs: found, next: undefined };
    last = end.jid;
    if (performance.now() > untilMs) return { jobs: found, next: last };
  }
}

/** One job as a list has it; undefined for an unknown jid. */
export async function jobLine(pool: Pool, jid: string): Promise<JobLine | undefined> {
  const filter = { hidden: true };
  const rows = await select<Line>(pool, LINES, [jid + '\u0001', jid, ...conditionsOf(filter), 1]);
  const [line] = await counted(
    pool,
    rows.filter((row) => row.jid === jid),
  );
  return line;
}

/** True if not each job of the range is of the page. */
function isNarrow({
  hidden,
  principal,
  fun,
  tgt,
  user,
  minion,
  origin,
  state,
  result,
}: JobFilter): boolean {
  const conditions = [principal, fun, tgt, user, minion, origin, state, result];
  return hidden !== true || conditions.some((value) => value !== undefined);
}

async function counted(pool: Pool, rows: readonly Line[]): Promise<JobLine[]> {
  const counts = await getCounts(
    pool,
    rows.map(({ jid }) => jid),
  );
  return rows.flatMap((row) => {
    const ledger = counts.get(row.jid);
    return ledger === undefined ? [] : [lineOf(row, ledger)];
  });
}

function lineOf(row: Line, ledger: Ledger): JobLine {
  const { jid, fun, tgt, tgt_type: tgtType, user, principal, hidden } = row;
  return {
    jid,
    fun,
    tgt,
    tgtType,
    user,
    principal,
    hidden,
    origin: originOf(row),
    publishedAt: Math.round(row.published_at),
    deadlineAt: row.deadline_at === null ? undefined : Math.round(row.deadline_at),
    ledger,
  };
}

function isOf(row: Line, { origin }: JobFilter): boolean {
  return origin === undefined || originOf(row) === origin;
}

function fits({ ledger }: JobLine, { state, result }: JobFilter): boolean {
  const { waiting, failed, late, never } = ledger;
  if (state !== undefined && (state === 'open') !== waiting > 0) return false;
  if (result === undefined) return true;
  return result === 'ok' ? waiting + failed + late + never === 0 : ledger[result] > 0;
}

function parametersOf(filter: JobFilter, before: string, limit: number): unknown[] {
  const from = filter.from === undefined ? '' : jidText(filter.from, '000');
  return [before, from, ...conditionsOf(filter), limit];
}

function conditionsOf({ hidden, principal, fun, tgt, user, state, minion }: JobFilter): unknown[] {
  return [
    hidden ?? false,
    principal ?? null,
    fun === undefined ? null : [fun].flat().map(globToRegex).join('|'),
    tgt === undefined ? null : globToRegex(tgt),
    user ?? null,
    state === 'open',
    minion ?? null,
  ];
}

function endOf({ to }: JobFilter): string {
  return to === undefined ? LAST : jidText(to, '000');
}
