import type { SaltMap } from '@brine/wire';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { type LoadColumns, readLoad } from '../read/get-load.ts';

/** What one minion gave for a job. */
export interface StoredReturn {
  /** As the minion sent it. */
  readonly load: SaltMap;
  /** Unix ms. */
  readonly receivedAt: number;
  /** Other returns of the minion for this job, which do not count; the oldest first. */
  readonly evidence: readonly { readonly load: SaltMap; readonly receivedAt: number }[];
}

const FIELDS = `raw, CASE WHEN raw IS NULL THEN full_ret::text END AS json,
  extract(epoch FROM received_at)::float8 * 1000 AS received_at`;
/** Returns of a minion that are looked through for its newest one of a function. */
const LOOKED_AT = 5_000;
const NEWEST = `
SELECT jid, ${FIELDS} FROM (
  SELECT jid, fun, failed, raw, full_ret, received_at FROM brine.returns
  WHERE id = $1 ORDER BY jid DESC LIMIT ${LOOKED_AT}
) AS newest WHERE fun = $2 AND NOT failed ORDER BY jid DESC LIMIT 1`;
const RETURN = `SELECT ${FIELDS} FROM brine.returns WHERE jid = $1 AND id = $2`;
const EVIDENCE = `
SELECT ${FIELDS} FROM brine.evidence WHERE jid = $1 AND id = $2 ORDER BY received_at, content`;

type Line = LoadColumns & { readonly received_at: number };

/** The return of a minion that counts; undefined if there is none. */
export async function storedReturn(
  pool: Pool,
  jid: string,
  id: string,
): Promise<StoredReturn | undefined> {
  const [row] = await select<Line>(pool, RETURN, [jid, id]);
  if (row === undefined) return undefined;
  const others = await select<Line>(pool, EVIDENCE, [jid, id]);
  return { ...read(row), evidence: others.map(read) };
}

/** What a minion returned last for a function without a failure, among its newest returns. */
export async function newestReturn(
  pool: Pool,
  id: string,
  fun: string,
): Promise<(Omit<StoredReturn, 'evidence'> & { readonly jid: string }) | undefined> {
  const [row] = await select<Line & { readonly jid: string }>(pool, NEWEST, [id, fun]);
  return row && { jid: row.jid, ...read(row) };
}

function read(row: Line): { readonly load: SaltMap; readonly receivedAt: number } {
  return { load: readLoad(row), receivedAt: Math.round(row.received_at) };
}
