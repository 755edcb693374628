import type { SaltMap, SaltValue } from '@brine/wire';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { type LoadColumns, readLoad } from './get-load.ts';

/** Rows and bytes of one page; the first row of a page comes whatever its size. */
const MAX_PAGE_ROWS = 10_000;
const MAX_PAGE_BYTES = 48 * 1024 * 1024;

const GET_JID = `
SELECT id, raw, CASE WHEN raw IS NULL THEN full_ret::text END AS json, more FROM (
  SELECT id, raw, full_ret, size,
    sum(size) OVER (ORDER BY id) AS upto,
    row_number() OVER (ORDER BY id) AS place,
    lead(id) OVER (ORDER BY id) IS NOT NULL AS more
  FROM (
    SELECT id, raw, full_ret, coalesce(octet_length(raw), pg_column_size(full_ret)) AS size
    FROM brine.returns WHERE jid = $1 AND id > $2 ORDER BY id LIMIT $3 + 1
  ) AS page
) AS sized
WHERE place <= $3 AND (place = 1 OR upto <= ${MAX_PAGE_BYTES})
ORDER BY id`;

/** The fields of a return that local_cache keeps (Salt: salt/returners/local_cache.py get_jid). */
const KEPT = ['return', 'retcode', 'success', 'out'] as const;

/** Returns of one job, by minion in order of their ids. */
export interface ReturnPage {
  readonly returns: ReadonlyMap<string, SaltMap>;
  /** Give it as `after` for the next page; undefined on the last. */
  readonly next: string | undefined;
}

/** The counted returns of a job: those of `{return, retcode, success, out}` that were given. */
export async function getJid(
  pool: Pool,
  jid: string,
  options: { readonly after?: string; readonly limit?: number } = {},
): Promise<ReturnPage> {
  const limit = Math.min(Math.max(options.limit ?? MAX_PAGE_ROWS, 1), MAX_PAGE_ROWS);
  const rows = await select<LoadColumns & { id: string; more: boolean }>(pool, GET_JID, [
    jid,
    options.after ?? '',
    limit,
  ]);
  const returns = new Map<string, SaltMap>();
  for (const row of rows) {
    const load = readLoad(row);
    // A return without content (`job_cache: false`) is left out: a stock cache has no file then.
    if (load.has('return')) returns.set(row.id, keptFields(load));
  }
  const last = rows.at(-1);
  return { returns, next: last?.more === true ? last.id : undefined };
}

function keptFields(load: SaltMap): SaltMap {
  const kept: SaltMap = new Map<SaltValue, SaltValue>();
  for (const key of KEPT) {
    const value = load.get(key);
    if (value !== undefined) kept.set(key, value);
  }
  return kept;
}
