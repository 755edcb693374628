import type { SaltMap } from '@brine/wire';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import type { LoadColumns } from './load-columns.ts';
import { readLoad } from './load-columns.ts';

const GET_LOAD = `
SELECT load_raw AS raw, CASE WHEN load_raw IS NULL THEN load::text END AS json,
  ARRAY(SELECT DISTINCT unnest(minions) COLLATE "C" ORDER BY 1) AS minions
FROM brine.jobs WHERE jid = $1`;

/**
 * The load of a job with `Minions`, the sorted targeted minions, as local_cache gives it
 * (Salt: salt/returners/local_cache.py get_load); undefined for an unknown jid.
 */
export async function getLoad(pool: Pool, jid: string): Promise<SaltMap | undefined> {
  const [row] = await select<LoadColumns & { minions: string[] }>(pool, GET_LOAD, [jid]);
  if (row === undefined) return undefined;
  const load = readLoad(row);
  if (row.minions.length > 0) load.set('Minions', row.minions);
  return load;
}
