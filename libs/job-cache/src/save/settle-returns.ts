import type { Pool } from 'pg';
import { statementParameters } from './batch.ts';
import type { PreparedReturn } from './prepare-return.ts';

/** The rows of the two parameters, shared by the statements about returns. */
export const RETURN_ROWS = (more = ''): string => `
  FROM jsonb_to_recordset($1::jsonb) AS i(jid text, id text, fun text, retcode integer,
    success boolean, failed boolean, full_ret jsonb, start integer, length integer, at float8,
    incarnation text, seq bigint, content uuid${more})`;

/** A row of `i` as the table has it. */
export const RETURN_OF_ROW = `i.jid, i.id, i.fun, i.retcode, i.success, i.failed, i.full_ret,
    substring($2::bytea FROM i.start FOR i.length) AS raw,
    to_timestamp(i.at / 1000.0) AS received_at, i.incarnation, i.seq, i.content`;

const RETURN_INPUT = `SELECT ${RETURN_OF_ROW} ${RETURN_ROWS()}`;

/** Different returns of one minion to one job that are kept beside the counted one. */
const MAX_EVIDENCE = 8;

const COLUMNS = `jid, id, fun, retcode, success, failed, full_ret, raw, received_at, incarnation,
    seq, content`;

/** Locks existing rows in key order (no deadlock), and leaves out mere redeliveries. */
const LOCK = `
WITH input AS MATERIALIZED (${RETURN_INPUT})
SELECT r.jid, r.id FROM brine.returns r JOIN input i ON i.jid = r.jid AND i.id = r.id
WHERE (r.incarnation, r.seq) <> (i.incarnation, i.seq)
ORDER BY r.jid, r.id
FOR UPDATE OF r`;

/** Keeps the later of two different returns as evidence, under its lowest position. */
const KEEP_LOSERS = `
WITH input AS MATERIALIZED (${RETURN_INPUT}),
losers AS (
  SELECT (CASE WHEN (i.incarnation, i.seq) < (r.incarnation, r.seq) THEN r ELSE
    ROW(i.*)::brine.returns END).*
  FROM brine.returns r JOIN input i ON i.jid = r.jid AND i.id = r.id
  WHERE i.content <> r.content
)
INSERT INTO brine.evidence (${COLUMNS}) SELECT ${COLUMNS} FROM losers
ON CONFLICT (jid, id, content) DO UPDATE SET full_ret = excluded.full_ret, raw = excluded.raw,
  received_at = excluded.received_at, incarnation = excluded.incarnation, seq = excluded.seq
WHERE (excluded.incarnation, excluded.seq) < (evidence.incarnation, evidence.seq)`;

const LET_LOWEST_WIN = `
WITH input AS MATERIALIZED (${RETURN_INPUT})
UPDATE brine.returns r SET fun = i.fun, retcode = i.retcode, success = i.success,
  failed = i.failed, full_ret = i.full_ret, raw = i.raw, received_at = i.received_at,
  incarnation = i.incarnation, seq = i.seq, content = i.content
FROM input i
WHERE i.jid = r.jid AND i.id = r.id AND (i.incarnation, i.seq) < (r.incarnation, r.seq)`;

/** Removes the counted return from the evidence, and bounds the rest. */
const TIDY_EVIDENCE = `
WITH input AS MATERIALIZED (${RETURN_INPUT}),
ranked AS (
  SELECT e.jid, e.id, e.content, e.content = r.content AS counts,
    row_number() OVER (
      PARTITION BY e.jid, e.id ORDER BY e.content = r.content, e.incarnation, e.seq
    ) AS place
  FROM brine.evidence e
  JOIN input i ON i.jid = e.jid AND i.id = e.id
  JOIN brine.returns r ON r.jid = e.jid AND r.id = e.id
)
DELETE FROM brine.evidence e USING ranked
WHERE e.jid = ranked.jid AND e.id = ranked.id AND e.content = ranked.content
  AND (ranked.counts OR ranked.place > ${MAX_EVIDENCE})`;

/**
 * Settles returns whose (jid, minion) is in the table already. A redelivery changes nothing; the
 * lowest stream position counts; a different content is evidence. One transaction, rare. Returns
 * how many rows were replaced. Metrics continue to count replaced rows, since a counter can not
 * fall.
 */
export async function settleKnownReturns(
  pool: Pool,
  rows: readonly PreparedReturn[],
): Promise<number> {
  const client = await pool.connect();
  let isDone = false;
  let replaced = 0;
  try {
    await client.query('BEGIN');
    const locked = await client.query<{ jid: string; id: string }>(LOCK, statementParameters(rows));
    const open = new Set(locked.rows.map((row) => `${row.jid}\0${row.id}`));
    const rest = rows.filter((row) => open.has(row.key));
    if (rest.length > 0) {
      const parameters = statementParameters(rest);
      for (const text of [KEEP_LOSERS, LET_LOWEST_WIN, TIDY_EVIDENCE]) {
        const result = await client.query(text, parameters);
        if (text === LET_LOWEST_WIN) replaced = result.rowCount ?? 0;
      }
    }
    await client.query('COMMIT');
    isDone = true;
    return replaced;
  } finally {
    // Closing a connection in the middle of a transaction rolls back.
    client.release(!isDone);
  }
}
