import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import type { ReturnState } from './ledger.ts';

/** The state of a job at a moment. Times are unix ms. */
export interface JobAt {
  readonly publishedMs: number;
  /** The deadline as it was known at that moment; undefined for a job without one. */
  readonly deadlineMs: number | undefined;
  /** The state of every minion at that moment; undefined before the publication. */
  readonly states: ReadonlyMap<string, ReturnState> | undefined;
}

/**
 * Folds the stored facts of a job up to a moment, $2. A minion that was seen running before and
 * after the moment was running at it, so it prolongs the deadline up to there. An unexpected minion
 * exists from its return on. The rule itself is brine.ledger_state.
 */
const DEADLINE = `
SELECT extract(epoch FROM published_at)::float8 * 1000 AS published,
  extract(epoch FROM coalesce(deadline, deadline_at))::float8 * 1000 AS deadline
FROM brine.jobs j CROSS JOIN LATERAL (
  SELECT greatest(j.published_at + coalesce(j.deadline_after, j.deadline_at - j.published_at),
    max(brine.prolonged(least(s.last_at, to_timestamp($2::float8 / 1000)), j.published_at,
      coalesce(j.deadline_after, j.deadline_at - j.published_at)))) AS deadline
  FROM brine.sightings s WHERE s.jid = j.jid AND s.kind = 'running'
    AND s.first_at <= to_timestamp($2::float8 / 1000) AND s.id = ANY (j.minions)
) AS then_known
WHERE jid = $1`;

const STATES = `
SELECT id, brine.ledger_state(CASE WHEN received_at <= moment THEN received_at END, failed,
  to_timestamp($3::float8 / 1000), moment) AS state
FROM brine.ledger CROSS JOIN to_timestamp($2::float8 / 1000) AS moment
WHERE jid = $1 AND NOT (unexpected AND received_at > moment)
ORDER BY id`;

/** The state of a job at a moment, unix ms; undefined for an unknown jid. */
export async function jobAt(pool: Pool, jid: string, atMs: number): Promise<JobAt | undefined> {
  const [job] = await select<{ published: number; deadline: number | null }>(pool, DEADLINE, [
    jid,
    atMs,
  ]);
  if (job === undefined) return undefined;
  const deadlineMs = job.deadline ?? undefined;
  if (atMs < job.published) return { publishedMs: job.published, deadlineMs, states: undefined };
  const rows = await select<{ id: string; state: ReturnState }>(pool, STATES, [
    jid,
    atMs,
    job.deadline,
  ]);
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  return { publishedMs: job.published, deadlineMs, states };
}
