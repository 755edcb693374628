import { isMap, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

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

const LOAD = `
SELECT load_raw AS raw, CASE WHEN load_raw IS NULL THEN load::text END AS json
FROM brine.jobs WHERE jid = $1`;

/** The load of a job, without its minions; undefined for an unknown jid. */
export async function loadAlone(pool: Pool, jid: string): Promise<SaltMap | undefined> {
  const [row] = await select<LoadColumns>(pool, LOAD, [jid]);
  return row && readLoad(row);
}

/** A load as the database has it: its bytes, or only JSON in a row of another writer. */
export interface LoadColumns {
  readonly raw: Buffer | null;
  readonly json: string | null;
}

/** The load of a row: from its exact bytes, else from its JSON. */
export function readLoad(columns: LoadColumns): SaltMap {
  if (columns.raw !== null) return unpackMap(columns.raw);
  const value = fromJson(JSON.parse(columns.json ?? '{}'));
  return isMap(value) ? value : new Map<SaltValue, SaltValue>();
}
