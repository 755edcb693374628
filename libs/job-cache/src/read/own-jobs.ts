import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

/** Most jobs of one question. */
const MAX_JIDS = 500;

const OWN = `
SELECT jid FROM brine.jobs WHERE jid = ANY ($1::text[] COLLATE "C") AND "user" = $2`;

/**
 * Returns those of these jobs that a user began.
 * @throws RangeError for more than 500 jobs
 */
export async function ownJobs(
  pool: Pool,
  user: string,
  jids: readonly string[],
): Promise<readonly string[]> {
  if (jids.length > MAX_JIDS) throw new RangeError(`at most ${MAX_JIDS} jobs in one question`);
  const rows = await select<{ jid: string }>(pool, OWN, [[...jids], user]);
  return rows.map(({ jid }) => jid);
}
