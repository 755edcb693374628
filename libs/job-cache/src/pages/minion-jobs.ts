import type { SaltValue } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { globToRegex } from '../read/glob.ts';
import type { ReturnState } from '../read/ledger.ts';

/** The part of a minion in a job. Times are unix ms. */
export interface MinionJob {
  readonly jid: string;
  readonly fun: readonly string[];
  readonly principal: string;
  readonly publishedAt: number;
  readonly state: ReturnState;
  /** Absent without a return, or without one number in it. */
  readonly retcode: number | undefined;
  readonly receivedAt: number | undefined;
  /** `fun` and `arg` as they were published, if asked for; without `arg` if that is long. */
  readonly load: SaltValue | undefined;
}

/** A page of the jobs of a minion, newest first. */
export interface MinionJobs {
  readonly jobs: readonly MinionJob[];
  /** Only jids below this one are left; undefined on the last page. */
  readonly next: string | undefined;
}

/** Selects jobs of a minion. */
export interface MinionJobFilter {
  /** A glob for one of the functions. */
  readonly fun?: string;
  readonly state?: ReturnState;
  /** True: with what judges its reader. */
  readonly judged?: boolean;
}

/** Jobs that are looked at together. */
const CHUNK = 200;
/** A page that found less by then is short, and its `next` continues, ms. */
const SEARCH_MS = 250;
/** The longest `arg` that judges a reader, in bytes of JSON: 500 of them make one answer. */
const ARG_BYTES = 8_192;

/** `LIMIT 1` keeps the planner from reading all returns of the minion. */
const JOBS = `
SELECT jid, fun, principal, retcode, state,
  extract(epoch FROM published_at)::float8 * 1000 AS published_at,
  extract(epoch FROM received_at)::float8 * 1000 AS received_at,
  meant AND ($5::text IS NULL OR state = $5) AS fits,
  CASE WHEN meant AND $6::boolean THEN CASE
    WHEN octet_length((load->'arg')::text) <= ${ARG_BYTES}
      THEN jsonb_build_object('fun', load->'fun', 'arg', load->'arg')
    ELSE jsonb_build_object('fun', load->'fun') END::text END AS load
FROM (
  SELECT j.jid, j.fun, j.principal, j.published_at, j.load, r.retcode, r.received_at,
    brine.ledger_state(r.received_at, r.failed, j.deadline_at, now()) AS state, CASE
      WHEN j.hidden THEN false
      WHEN $4::text IS NOT NULL AND NOT EXISTS (SELECT FROM unnest(j.fun) AS one WHERE one ~ $4)
        THEN false
      ELSE r.received_at IS NOT NULL OR $1 = ANY (j.minions) END AS meant
  FROM brine.jobs j LEFT JOIN LATERAL (
    SELECT retcode, failed, received_at FROM brine.returns
    WHERE jid = j.jid AND id = $1 LIMIT 1
  ) AS r ON true
  WHERE j.jid < $2 ORDER BY j.jid DESC LIMIT $3
) AS looked ORDER BY jid DESC`;

interface Line {
  readonly jid: string;
  readonly fun: string[];
  readonly principal: string;
  readonly retcode: number | null;
  readonly state: ReturnState;
  readonly published_at: number;
  readonly received_at: number | null;
  readonly load: string | null;
  readonly fits: boolean;
}

/** Above each jid, in the order of bytes. */
const LAST = '~';

/**
 * The jobs of a minion that meet a filter, newest first, without commands of tools. A page of a
 * rare match may be short or empty; its `next` continues the search.
 */
export async function minionJobs(
  pool: Pool,
  id: string,
  { fun, state, judged = false }: MinionJobFilter,
  { limit, before }: { readonly limit: number; readonly before?: string },
): Promise<MinionJobs> {
  const untilMs = performance.now() + SEARCH_MS;
  const pattern = fun === undefined ? null : globToRegex(fun);
  const found: MinionJob[] = [];
  let last = before ?? LAST;
  for (;;) {
    const values = [id, last, CHUNK, pattern, state ?? null, judged];
    const rows = await select<Line>(pool, JOBS, values);
    for (const row of rows) {
      if (!row.fits) continue;
      // One more than the page has: it is not the last.
      if (found.length === limit) return { jobs: found, next: found.at(-1)?.jid };
      found.push(jobOf(row));
    }
    const end = rows.at(-1);
    if (end === undefined || rows.length < CHUNK) return { jobs: found, next: undefined };
    last = end.jid;
    if (performance.now() > untilMs) return { jobs: found, next: last };
  }
}

function jobOf({
  load,
  published_at: publishedAt,
  received_at: receivedAt,
  ...row
}: Line): MinionJob {
  const { jid, fun, principal, state, retcode } = row;
  return {
    jid,
    fun,
    principal,
    state,
    publishedAt: Math.round(publishedAt),
    retcode: retcode ?? undefined,
    receivedAt: receivedAt === null ? undefined : Math.round(receivedAt),
    load: load === null ? undefined : fromJson(JSON.parse(load)),
  };
}
