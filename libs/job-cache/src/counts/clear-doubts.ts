import type { Pool } from 'pg';

/** Doubts that one statement clears. */
const MAX_CLEARED = 5_000;
/** Statements of one call: the rest stays in doubt, and readers compare it with its job. */
const MAX_CLEARINGS = 100;

/**
 * Returns that came before the targets of their job, or from another writer, are compared with the
 * publication once, so that readers need not. Who is a target, and in time, stays so. A row that
 * another writer has locked stays as it is.
 */
const CLEAR = `
WITH published AS MATERIALIZED (
  SELECT jid, deadline_at, targeted FROM brine.jobs WHERE jid = ANY ($1) AND origin = 0
),
open AS MATERIALIZED (
  SELECT d.jid, d.id, d.received_at <= p.deadline_at AS in_time, d.outside, p.targeted
  FROM brine.doubts d JOIN published p ON p.jid = d.jid
  WHERE d.jid = ANY ($1) AND (d.outside <> p.targeted OR
    d.outside IS NULL AND d.received_at <= p.deadline_at)
  LIMIT ${MAX_CLEARED} FOR UPDATE OF d SKIP LOCKED
),
targets AS MATERIALIZED (
  SELECT jid, unnest(minions) COLLATE "C" AS id FROM brine.jobs
  WHERE jid = ANY ($1) AND jid IN (SELECT jid FROM open WHERE outside IS NOT NULL)
),
judged AS MATERIALIZED (
  SELECT DISTINCT o.*, o.outside IS NULL OR t.id IS NOT NULL AS expected
  FROM open o LEFT JOIN targets t ON t.jid = o.jid AND t.id = o.id
),
cleared AS (
  DELETE FROM brine.doubts d USING judged j
  WHERE d.jid = ANY ($1) AND d.jid = j.jid AND d.id = j.id AND j.expected AND j.in_time IS TRUE
),
compared AS (
  UPDATE brine.doubts d SET outside = CASE WHEN NOT j.expected THEN j.targeted END
  FROM judged j
  WHERE d.jid = ANY ($1) AND d.jid = j.jid AND d.id = j.id
    AND NOT (j.expected AND j.in_time IS TRUE)
)
SELECT count(*)::integer AS cleared FROM judged`;

/** Clears the doubts about returns of published jobs (counts.sql). Throws errors of `pg`. */
export async function clearDoubts(pool: Pool, jids: readonly string[]): Promise<void> {
  if (jids.length === 0) return;
  for (let turn = 0; turn < MAX_CLEARINGS; turn += 1) {
    const { rows } = await pool.query<{ cleared: number }>(CLEAR, [jids]);
    if ((rows[0]?.cleared ?? 0) < MAX_CLEARED) return;
  }
}
