import { setImmediate as turn } from 'node:timers/promises';
import { scanMap } from '@brine/wire';
import type { Pool } from 'pg';
import { asJobCacheError } from '../connection/errors.ts';
import { select } from '../connection/query.ts';
import { type LoadColumns, readLoad } from '../read/get-load.ts';
import { digestsOf, listOfStates } from './state-run.ts';

/** Returns and bytes that are read at once; the first comes whatever its size. */
const BATCH_ROWS = 200;
const BATCH_BYTES = 8 * 1024 * 1024;

/** Returns of a job that were not read yet, or have another content now. */
const UNREAD = `
SELECT id, content::text, raw, CASE WHEN raw IS NULL THEN full_ret::text END AS json FROM (
  SELECT r.id, r.content, r.raw, r.full_ret,
    sum(coalesce(octet_length(r.raw), pg_column_size(r.full_ret))) OVER (ORDER BY r.id) AS upto,
    row_number() OVER (ORDER BY r.id) AS place
  FROM brine.returns r LEFT JOIN brine.digests d ON d.jid = r.jid AND d.id = r.id
  WHERE r.jid = $1 AND r.id > $2 AND d.content IS DISTINCT FROM r.content
  ORDER BY r.id LIMIT ${BATCH_ROWS}
) AS batch WHERE place = 1 OR upto <= ${BATCH_BYTES} ORDER BY id`;

const KEEP_LISTS = `
INSERT INTO brine.state_lists (jid, list, ids)
SELECT $1, l.list, ARRAY(SELECT jsonb_array_elements_text(l.ids))
FROM jsonb_to_recordset($2::jsonb) AS l(list uuid, ids jsonb) ORDER BY l.list
ON CONFLICT DO NOTHING`;

const KEEP = `
INSERT INTO brine.digests (jid, id, content, exact, plain, list, outcomes, durations)
SELECT $1, d.id, d.content, d.exact, d.plain, d.list, d.outcomes, CASE WHEN d.durations IS NOT NULL
  THEN ARRAY(SELECT jsonb_array_elements_text(d.durations)::integer) END
FROM jsonb_to_recordset($2::jsonb) AS d(id text, content uuid, exact uuid, plain uuid, list uuid,
  outcomes text, durations jsonb) ORDER BY d.id
ON CONFLICT (jid, id) DO UPDATE SET content = excluded.content, exact = excluded.exact,
  plain = excluded.plain, list = excluded.list, outcomes = excluded.outcomes,
  durations = excluded.durations`;

type Line = LoadColumns & { readonly id: string; readonly content: string };

/**
 * Reads the returns of a job that were not read for this yet, and keeps what they have in common.
 * Other work of this process has its turns in between.
 * @returns false if the time was over before the last of them
 */
export async function readDigests(
  { reads, writes }: { readonly reads: Pool; readonly writes: Pool },
  jid: string,
  untilMs: number,
): Promise<boolean> {
  let after = '';
  for (;;) {
    const lines = await select<Line>(reads, UNREAD, [jid, after]);
    const last = lines.at(-1);
    if (last === undefined) return true;
    await keep(writes, jid, lines);
    after = last.id;
    if (performance.now() > untilMs) return false;
  }
}

async function keep(writes: Pool, jid: string, lines: readonly Line[]): Promise<void> {
  const lists = new Map<string, readonly string[]>();
  const rows: object[] = [];
  for (const line of lines) {
    const { id, content, raw } = line;
    const { exact, plain, run } = digestsOf(raw === null ? readLoad(line) : scanMap(raw));
    if (run === undefined) rows.push({ id, content, exact, plain });
    else {
      const list = listOfStates(run.ids);
      lists.set(list, run.ids);
      const { outcomes, durations } = run;
      rows.push({ id, content, exact, plain, list, outcomes, durations });
    }
    // Reading a long run takes a millisecond or more.
    await turn();
  }
  const named = [...lists].map(([list, ids]) => ({ list, ids }));
  try {
    if (named.length > 0) await writes.query(KEEP_LISTS, [jid, JSON.stringify(named)]);
    await writes.query(KEEP, [jid, JSON.stringify(rows)]);
  } catch (error) {
    throw asJobCacheError(error);
  }
}
