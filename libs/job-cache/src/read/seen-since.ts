import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { jidText } from './list-jobs.ts';

/** Most minions of one question. */
const MAX_IDS = 10_000;

/** $1 ids, $2 the time, $3 the first jid of that time: older jobs can have no newer return. */
const SEEN = `
SELECT asked.id FROM unnest($1::text[]) AS asked(id)
WHERE EXISTS (
    SELECT FROM brine.log_ins l
    WHERE l.id = asked.id COLLATE "C" AND to_timestamp($2::float8 / 1000) <= ANY (l.at))
  OR EXISTS (
    SELECT FROM brine.returns r
    WHERE r.id = asked.id COLLATE "C" AND r.jid >= $3
      AND r.received_at >= to_timestamp($2::float8 / 1000))`;

/**
 * Returns those of these minions that logged in since a time, or returned to a job of that time.
 * @throws RangeError for more than 10,000 ids
 */
export async function seenSince(
  pool: Pool,
  ids: readonly string[],
  sinceMs: number,
): Promise<readonly string[]> {
  if (ids.length > MAX_IDS) throw new RangeError(`at most ${MAX_IDS} minions in one question`);
  const firstJid = jidText(sinceMs, '000');
  const rows = await select<{ id: string }>(pool, SEEN, [[...ids], sinceMs, firstJid]);
  return rows.map(({ id }) => id);
}
