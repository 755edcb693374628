import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

/**
 * The state of a minion in a job, as `brine.ledger_state` judges it (000004.sql). `late` goes
 * before `failed`: a late return is late whatever its retcode. Each targeted minion is in exactly
 * one state; `waiting` ends with the deadline.
 */
export type ReturnState = 'waiting' | 'returned' | 'failed' | 'late' | 'never';

/** The number of minions in each state; targeted includes the unexpected ones. */
export type Ledger = Readonly<Record<ReturnState, number>> & {
  readonly targeted: number;
  /** Minions that returned without being targets; the states count them too. */
  readonly unexpected: number;
  /** Different returns kept beside the counted ones; only `getJob` counts them, others show 0. */
  readonly evidence: number;
};

/** Jobs of one call of {@link getCounts}: a page of 500, and one that shows that there are more. */
const MAX_COUNTED = 501;

/**
 * The sums of brine.ledger out of the counts (counts.sql). Returns in doubt are compared with the
 * job; its targets are read only if a minion was not compared with all of them yet. Each table has
 * a condition of its own, so that the plan leaves out the partitions of other days.
 */
export const COUNTS = `
WITH strange AS MATERIALIZED (
  SELECT d.jid, d.id, d.outside = j.targeted AS compared
  FROM brine.doubts d JOIN brine.jobs j ON j.jid = d.jid
  WHERE d.jid = ANY ($1) AND j.jid = ANY ($1) AND d.outside IS NOT NULL
),
unexpected AS (
  SELECT jid, count(*)::integer AS unexpected FROM (
    SELECT jid, id FROM strange WHERE compared
    UNION ALL (
      SELECT jid, id FROM strange WHERE NOT compared
      EXCEPT
      SELECT jid, unnest(minions) COLLATE "C" FROM brine.jobs
      WHERE jid = ANY ($1) AND jid IN (SELECT jid FROM strange WHERE NOT compared)
    )
  ) AS others GROUP BY jid
),
late AS (
  SELECT d.jid, count(*)::integer AS late,
    (count(*) FILTER (WHERE d.failed))::integer AS late_failed
  FROM brine.doubts d JOIN brine.jobs j ON j.jid = d.jid
  WHERE d.jid = ANY ($1) AND j.jid = ANY ($1) AND d.received_at > j.deadline_at
  GROUP BY d.jid
),
counted AS (
  SELECT jid, sum(came)::integer AS came, sum(failed)::integer AS failed, min(lane) >= 0 AS whole
  FROM brine.job_counts WHERE jid = ANY ($1) GROUP BY jid
)
SELECT j.jid, j.targeted, j.deadline_at <= now() IS TRUE AS over,
  j.targeted IS NOT NULL AND coalesce(c.whole, true) AS known,
  coalesce(c.came, 0) AS came, coalesce(c.failed, 0) AS failed, coalesce(l.late, 0) AS late,
  coalesce(l.late_failed, 0) AS late_failed, coalesce(u.unexpected, 0) AS unexpected
FROM brine.jobs j
LEFT JOIN counted c ON c.jid = j.jid
LEFT JOIN late l ON l.jid = j.jid
LEFT JOIN unexpected u ON u.jid = j.jid
WHERE j.jid = ANY ($1)`;

const STATES = `
SELECT jid, state, count(*)::integer AS count,
  (count(*) FILTER (WHERE unexpected))::integer AS unexpected,
  CASE WHEN $2::boolean THEN array_agg(id ORDER BY id) ELSE '{}' END AS ids
FROM brine.ledger WHERE jid = ANY ($1) GROUP BY jid, state`;

interface CountColumns {
  readonly jid: string;
  readonly targeted: number;
  readonly over: boolean;
  /** False: the counts of this job are incomplete. */
  readonly known: boolean;
  readonly came: number;
  readonly failed: number;
  readonly late: number;
  readonly late_failed: number;
  readonly unexpected: number;
}

interface StateColumns {
  readonly jid: string;
  readonly state: ReturnState;
  readonly count: number;
  readonly unexpected: number;
  readonly ids: readonly string[];
}

const NO_MINION: Ledger = {
  targeted: 0,
  waiting: 0,
  returned: 0,
  failed: 0,
  late: 0,
  never: 0,
  unexpected: 0,
  evidence: 0,
};

/**
 * The ledgers of jobs; an unknown jid has none. Reads neither targets nor returns, except of jobs
 * that were stored before there were counts, and of jids that were used again.
 *
 * @param jids 501 at most, else RangeError
 * Throws JobCacheError.
 */
export async function getCounts(
  pool: Pool,
  jids: readonly string[],
): Promise<ReadonlyMap<string, Ledger>> {
  if (jids.length > MAX_COUNTED) throw new RangeError(`counts of more than ${MAX_COUNTED} jobs`);
  if (jids.length === 0) return new Map();
  const rows = await select<CountColumns>(pool, COUNTS, [jids]);
  const ledgers = new Map(rows.map((row) => [row.jid, ledgerOfCounts(row)]));
  const rest = rows.filter(({ known }) => !known).map(({ jid }) => jid);
  if (rest.length === 0) return ledgers;
  const found = await select<StateColumns>(pool, STATES, [rest, false]);
  for (const jid of rest) {
    ledgers.set(jid, ledgerOfStates(found.filter((row) => row.jid === jid)));
  }
  return ledgers;
}

/** The ledger of a job; all 0 for an unknown jid. Throws JobCacheError. */
export async function getLedger(pool: Pool, jid: string): Promise<Ledger> {
  return (await getCounts(pool, [jid])).get(jid) ?? NO_MINION;
}

/** The ledger of a job with the state of each minion. Throws JobCacheError. */
export async function getStates(
  pool: Pool,
  jid: string,
): Promise<{ readonly ledger: Ledger; readonly states: ReadonlyMap<string, ReturnState> }> {
  const found = await select<StateColumns>(pool, STATES, [[jid], true]);
  const states = found.flatMap(({ state, ids }) => ids.map((id) => [id, state] as const));
  return { ledger: ledgerOfStates(found), states: new Map(states) };
}

function ledgerOfCounts(row: CountColumns): Ledger {
  const open = row.targeted - (row.came - row.unexpected);
  const failed = row.failed - row.late_failed;
  return {
    targeted: row.targeted + row.unexpected,
    waiting: row.over ? 0 : open,
    returned: row.came - row.late - failed,
    failed,
    late: row.late,
    never: row.over ? open : 0,
    unexpected: row.unexpected,
    evidence: 0,
  };
}

function ledgerOfStates(found: readonly StateColumns[]): Ledger {
  const count = (state: ReturnState): number => found.find((f) => f.state === state)?.count ?? 0;
  return {
    targeted: found.reduce((sum, f) => sum + f.count, 0),
    waiting: count('waiting'),
    returned: count('returned'),
    failed: count('failed'),
    late: count('late'),
    never: count('never'),
    unexpected: found.reduce((sum, f) => sum + f.unexpected, 0),
    evidence: 0,
  };
}
