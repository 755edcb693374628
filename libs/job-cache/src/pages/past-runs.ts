import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { jidText } from '../read/list-jobs.ts';

/** The return of a run of states. */
export interface PastRun {
  readonly jid: string;
  readonly id: string;
  /** When it came, unix ms. */
  readonly at: number;
  readonly failed: boolean;
  /** It was a run with `test=True`. */
  readonly isTest: boolean;
  /** States that it would change; undefined: no test, or too large to be counted here. */
  readonly would: number | undefined;
}

/** A place in the returns of all jobs, newest first. */
export interface PastPlace {
  readonly jid: string;
  readonly id: string;
}

/** Returns that are looked at by one question. */
const LOOKED_AT = 200;
/** A larger return is not read for what it would change, bytes. */
const READ_MAX = 1024 * 1024;
/** Jobs that began longer ago are not looked at, ms; and how much later than now an id may be. */
const BACK_MS = 7 * 86_400_000;
const AHEAD_MS = 86_400_000;
/** After each id of a minion. */
const LAST = '\u{10ffff}';

/**
 * The primary key gives the returns in order; those of other functions are looked at and left out.
 * The condition on jid alone leaves out the partitions of other days.
 */
const PAST = `
WITH looked AS MATERIALIZED (
  SELECT jid, id, fun, failed, received_at FROM brine.returns
  WHERE jid <= $1 AND jid >= $3 AND (jid < $1 OR id < $2)
  ORDER BY jid DESC, id DESC LIMIT ${LOOKED_AT}
)
SELECT l.jid, l.id, l.failed, l.fun = ANY ($4) AS runs,
  extract(epoch FROM l.received_at)::float8 * 1000 AS at, coalesce(r.tests, false) AS tests,
  CASE WHEN r.tests THEN r.would END AS would
FROM looked l LEFT JOIN LATERAL (
  SELECT full_ret->'fun_args' @> '["test=True"]' OR full_ret->'fun_args' @> '[{"test": true}]'
    AS tests,
    CASE WHEN jsonb_typeof(full_ret->'return') = 'object'
      AND pg_column_size(full_ret) <= ${READ_MAX}
      THEN (SELECT count(*)::integer FROM jsonb_each(full_ret->'return') AS state(name, value)
        WHERE jsonb_typeof(value) = 'object' AND value->'result' = 'null') END AS would
  FROM brine.returns WHERE jid = l.jid AND id = l.id
) AS r ON l.fun = ANY ($4)
ORDER BY l.jid DESC, l.id DESC`;

interface Line extends PastPlace {
  readonly failed: boolean;
  readonly runs: boolean;
  readonly at: number;
  readonly tests: boolean;
  readonly would: number | null;
}

/**
 * Runs of states, newest first, from a place on: some of them, of a few returns that are looked at.
 * `next` is where the others are; undefined at the end.
 */
export async function pastRuns(
  pool: Pool,
  functions: readonly string[],
  after?: PastPlace,
): Promise<{ readonly runs: readonly PastRun[]; readonly next: PastPlace | undefined }> {
  const now = Date.now();
  const { jid, id } = after ?? { jid: jidText(now + AHEAD_MS, '000'), id: LAST };
  const back = jidText(now - BACK_MS, '000');
  const lines = await select<Line>(pool, PAST, [jid, id, back, [...functions]]);
  const last = lines.at(-1);
  return {
    runs: lines
      .filter(({ runs }) => runs)
      .map((line) => ({
        jid: line.jid,
        id: line.id,
        at: line.at,
        failed: line.failed,
        isTest: line.tests,
        would: line.would ?? undefined,
      })),
    next:
      last === undefined || lines.length < LOOKED_AT ? undefined : { jid: last.jid, id: last.id },
  };
}
