import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

/** Minions whose returns are equal. */
export interface ReturnGroup {
  /** Names what they gave. */
  readonly digest: string;
  readonly size: number;
  readonly failed: boolean;
  /** One of them, the first by id. */
  readonly sample: string;
}

/** The groups of a job. */
export interface ReturnGroups {
  /** Failed ones first, then the smallest. */
  readonly groups: readonly ReturnGroup[];
  /** Groups beyond those. */
  readonly more: number;
}

const GROUPS = `
SELECT content::text AS digest, count(*)::integer AS size, bool_or(failed) AS failed,
  min(id COLLATE "C") AS sample, (count(*) OVER ())::integer AS groups
FROM brine.returns WHERE jid = $1 AND ($2::text[] IS NULL OR id = ANY ($2))
GROUP BY content ORDER BY bool_or(failed) DESC, count(*), min(id COLLATE "C") LIMIT $3`;

/** The returns of a job by what they contain. @param ids only of these */
export async function returnGroups(
  pool: Pool,
  jid: string,
  { limit, ids }: { readonly limit: number; readonly ids?: readonly string[] },
): Promise<ReturnGroups> {
  const rows = await select<ReturnGroup & { readonly groups: number }>(pool, GROUPS, [
    jid,
    ids ?? null,
    limit,
  ]);
  const groups = rows.map(({ groups: _all, ...group }) => group);
  return { groups, more: (rows[0]?.groups ?? 0) - groups.length };
}
