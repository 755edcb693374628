import { isMinionId } from '@brine/job';
import type { Pool } from 'pg';
import type { Unfit } from './batch.ts';
import { writeTexts } from './batch.ts';
import type { LogInRow } from './rows.ts';

const KEEP = `
INSERT INTO brine.log_ins AS l (id, at)
SELECT i.i, brine.last_times(array_agg(to_timestamp(i.t / 1000.0)))
FROM jsonb_to_recordset($1::jsonb) AS i(i text, t float8)
GROUP BY i.i ORDER BY i.i
ON CONFLICT (id) DO UPDATE SET at = brine.last_times(l.at || excluded.at)
WHERE NOT excluded.at <@ l.at`;

/**
 * Stores log-ins, the last 8 of each minion; a repeated call changes nothing. Resolves with the
 * rows that PostgreSQL refuses, after the others are stored. Throws JobCacheError for outages.
 */
export async function saveLogIns(
  pool: Pool,
  rows: readonly LogInRow[],
): Promise<readonly Unfit<LogInRow>[]> {
  return writeTexts(rows, {
    texts: ({ id, at }) => (isMinionId(id) ? [JSON.stringify({ i: id, t: at })] : []),
    write: (json) => pool.query({ name: 'keep-log-ins', text: KEEP, values: [json] }),
  });
}
