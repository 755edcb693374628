import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import type { ExchangeKind } from './exchange-format.ts';

/** Rows and bytes of one page; the first row of a page comes whatever its size. */
const MAX_PAGE_ROWS = 1_000;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

const base64 = (column: string): string => `translate(encode(${column}, 'base64'), E'\\n', '')`;

const RETURN_FIELDS = `'jid', jid, 'id', id, 'fun', fun, 'retcode', retcode, 'success', success,
  'failed', failed, 'full_ret',
  CASE WHEN raw IS NULL OR full_ret->'return' ? '$raw' THEN full_ret END, 'raw', ${base64('raw')},
  'received_at', received_at, 'incarnation', incarnation, 'seq', seq, 'content', content`;

/** For each kind its fields, its table, and the order of its rows within a job. */
const SOURCES: Readonly<
  Record<ExchangeKind, { readonly fields: string; readonly table: string; readonly key: string }>
> = {
  job: {
    fields: `'jid', jid, 'load', CASE WHEN load_raw IS NULL OR load->'arg' ? '$raw' THEN load END,
      'load_raw', ${base64('load_raw')}, 'principal', principal, 'user', "user", 'fun', fun,
      'tgt', tgt, 'tgt_type', tgt_type, 'minions', minions, 'missing', missing,
      'published_at', published_at, 'deadline_at', deadline_at,
      'deadline_after', deadline_after::text, 'not_after', not_after, 'hidden', hidden,
      'origin', origin, 'begun_by', begun_by, 'host', host, 'request_id', request_id,
      'incarnation', incarnation, 'seq', seq`,
    table: 'brine.jobs',
    key: "''",
  },
  return: { fields: RETURN_FIELDS, table: 'brine.returns', key: 'id' },
  evidence: {
    fields: RETURN_FIELDS,
    table: 'brine.evidence',
    // Ids have no control characters (libs/job isMinionId).
    key: "id || E'\\x01' || content::text",
  },
  sighting: {
    fields: `'jid', jid, 'id', id, 'seen', kind, 'first_at', first_at, 'last_at', last_at,
      'count', count, 'detail', detail`,
    table: 'brine.sightings',
    key: "id || E'\\x01' || kind",
  },
};

/** Lines of a file of `jobs.export`, and where the next page begins. */
export interface ExportPage {
  readonly lines: readonly string[];
  /** Give it as `after` for the next page; undefined on the last. */
  readonly next: string | undefined;
}

/** The rows of one kind of a job as lines, a page at a time. */
export async function exportRows(
  pool: Pool,
  jid: string,
  kind: ExchangeKind,
  after?: string,
): Promise<ExportPage> {
  const { fields, table, key } = SOURCES[kind];
  const text = `
SELECT line, key, more FROM (
  SELECT line, key, row_number() OVER place AS place, lead(key) OVER place IS NOT NULL AS more,
    sum(length(line)) OVER place AS upto
  FROM (
    SELECT json_build_object('kind', '${kind}', ${fields})::text AS line,
      (${key}) COLLATE "C" AS key
    FROM ${table} WHERE jid = $1 AND ($2::text IS NULL OR (${key}) COLLATE "C" > $2)
    ORDER BY 2 LIMIT ${MAX_PAGE_ROWS} + 1
  ) AS page WINDOW place AS (ORDER BY key)
) AS sized
WHERE place <= ${MAX_PAGE_ROWS} AND (place = 1 OR upto <= ${MAX_PAGE_BYTES}) ORDER BY key`;
  const rows = await select<{ line: string; key: string; more: boolean }>(pool, text, [
    jid,
    after ?? null,
  ]);
  const last = rows.at(-1);
  return {
    lines: rows.map(({ line }) => line),
    next: last?.more === true ? last.key : undefined,
  };
}
