import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

const ENDED = `
SELECT extract(epoch FROM max(received_at))::float8 * 1000 AS ended
FROM brine.returns WHERE jid = $1`;

/** The time of the last return of a job, unix ms; undefined without returns. */
export async function endTime(pool: Pool, jid: string): Promise<number | undefined> {
  const [row] = await select<{ ended: number | null }>(pool, ENDED, [jid]);
  return row?.ended ?? undefined;
}
