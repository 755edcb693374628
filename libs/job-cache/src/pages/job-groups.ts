import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

/** Returns are equal, or came to the same: runs of states, whatever their times and numbers. */
export type Likeness = 'exact' | 'states';

/** Minions that gave the same. */
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

const groupsBy = (digest: 'exact' | 'plain'): string => `
SELECT d.${digest}::text AS digest, count(*)::integer AS size, bool_or(r.failed) AS failed,
  min(r.id COLLATE "C") AS sample, (count(*) OVER ())::integer AS groups
FROM brine.digests d JOIN brine.returns r ON r.jid = d.jid AND r.id = d.id
WHERE d.jid = $1 AND r.jid = $1 AND ($2::text[] IS NULL OR d.id = ANY ($2))
GROUP BY d.${digest}
ORDER BY bool_or(r.failed) DESC, count(*), min(r.id COLLATE "C") LIMIT $3`;

const GROUPS: Readonly<Record<Likeness, string>> = {
  exact: groupsBy('exact'),
  states: groupsBy('plain'),
};

/**
 * Returns that are compared where they lie, in bytes of all before they are compressed: more take
 * too long. 100,000 of test.ping are 13 MB, 1,000 runs of 200 states 50.
 */
const COMPARED_BYTES = 24 * 1024 * 1024;

const SIZE = `
SELECT coalesce(sum(coalesce(octet_length(raw), pg_column_size(full_ret))), 0) <= ${COMPARED_BYTES}
  AS small
FROM brine.returns WHERE jid = $1`;

/** One that is kept as bytes alone can not be compared: it is equal to none. */
const COMPARED = `
SELECT digest, count(*)::integer AS size, bool_or(failed) AS failed,
  min(id COLLATE "C") AS sample, (count(*) OVER ())::integer AS groups
FROM (
  SELECT id, failed, CASE WHEN full_ret->'return' ? '$raw' THEN content::text ELSE md5(
    jsonb_build_array(full_ret->'return', full_ret->'retcode', full_ret->'success')::text) END
    AS digest
  FROM brine.returns WHERE jid = $1 AND ($2::text[] IS NULL OR id = ANY ($2))
) AS compared
GROUP BY digest ORDER BY bool_or(failed) DESC, count(*), min(id COLLATE "C") LIMIT $3`;

/** True if the returns of a job can be compared at once, without what is kept of them. */
export async function areSmall(pool: Pool, jid: string): Promise<boolean> {
  const [row] = await select<{ small: boolean }>(pool, SIZE, [jid]);
  return row?.small ?? true;
}

/** Which groups are asked for. */
export interface GroupsAsked {
  readonly limit: number;
  readonly likeness: Likeness;
  /** Only of these minions. */
  readonly ids?: readonly string[];
}

/** The returns of a job by what they contain; `kept`: by the digests that are kept of them. */
export async function returnGroups(
  pool: Pool,
  jid: string,
  { limit, likeness, ids, kept }: GroupsAsked & { readonly kept: boolean },
): Promise<ReturnGroups> {
  const text = kept ? GROUPS[likeness] : COMPARED;
  const rows = await select<ReturnGroup & { readonly groups: number }>(pool, text, [
    jid,
    ids ?? null,
    limit,
  ]);
  const groups = rows.map(({ groups: _all, ...group }) => group);
  return { groups, more: (rows[0]?.groups ?? 0) - groups.length };
}
