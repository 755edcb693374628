import type { Pool } from 'pg';
import { writeInBatches, statementParameters } from './batch.ts';
import type { JidMemory } from './jid-memory.ts';
import { prepareReturn } from './prepare-return.ts';
import type { PreparedReturn } from './prepare-return.ts';
import { quarantine } from './quarantine.ts';
import { RETURN_INPUT } from './return-input.ts';
import { saveJobs } from './save-jobs.ts';
import { settleKnownReturns } from './settle-returns.ts';
import type { RefusedRow, ReturnRow, SaveReport } from './rows.ts';

/** $3: the jids of the batch of which it is not known yet that they have a job. */
const INSERT_RETURNS = `
WITH input AS MATERIALIZED (${RETURN_INPUT}),
inserted AS (
  INSERT INTO brine.returns (jid, id, fun, retcode, success, failed, full_ret, raw, received_at,
    incarnation, seq, content)
  SELECT * FROM input
  ORDER BY jid COLLATE "C", id COLLATE "C"
  ON CONFLICT (jid, id) DO NOTHING
  RETURNING jid, id
),
orphaned AS (
  INSERT INTO brine.orphans (jid)
  SELECT asked FROM unnest($3::text[]) AS asked
  WHERE NOT EXISTS (SELECT FROM brine.jobs WHERE jobs.jid = asked)
  ORDER BY asked COLLATE "C"
  ON CONFLICT (jid) DO UPDATE SET seen_at = orphans.seen_at
  RETURNING jid
)
SELECT 'known' AS kind, jid, id FROM input
WHERE NOT EXISTS (
  SELECT FROM inserted WHERE inserted.jid = input.jid AND inserted.id = input.id
)
UNION ALL
SELECT 'orphan', jid, '' FROM orphaned`;

/**
 * Stores returns; each batch is one statement. The first of a (jid, minion) by stream position
 * counts, others with another content are kept as evidence, whatever the order they come in.
 *
 * Throws JobCacheError (retryable for outages); the same rows can be given again.
 */
export async function saveReturns(
  pool: Pool,
  rows: readonly ReturnRow[],
  jids: JidMemory,
): Promise<SaveReport> {
  const refused: RefusedRow[] = [];
  const prepared: PreparedReturn[] = [];
  let stored = 0;
  let known = 0;
  for (const row of rows) {
    try {
      prepared.push(prepareReturn(row));
    } catch (error) {
      refused.push(await quarantine(pool, { kind: 'return', ...row, raw: row.load }, error));
    }
  }
  const born = prepared.flatMap((p) => (p.born && !jids.has(p.row.jid) ? [p.born] : []));
  if (born.length > 0) refused.push(...(await saveJobs(pool, born, jids)).refused);
  await writeInBatches(
    prepared,
    async (batch) => {
      const late = await insertReturns(pool, batch, jids);
      if (late.length > 0) await settleKnownReturns(pool, late);
      stored += batch.length - late.length;
      known += late.length;
    },
    async ({ row }, error) => {
      refused.push(await quarantine(pool, { kind: 'return', ...row, raw: row.load }, error));
    },
  );
  return { stored, known, refused };
}

/** Inserts what is new and returns the rows whose key was there already. */
async function insertReturns(
  pool: Pool,
  batch: readonly PreparedReturn[],
  jids: JidMemory,
): Promise<PreparedReturn[]> {
  const asked = [...new Set(batch.map(({ row }) => row.jid))].filter((jid) => !jids.has(jid));
  const [json, raw] = statementParameters(batch);
  const result = await pool.query<{ kind: 'known' | 'orphan'; jid: string; id: string }>({
    name: 'insert-returns',
    text: INSERT_RETURNS,
    values: [json, raw, asked],
  });
  const orphans = new Set<string>();
  const known = new Set<string>();
  for (const found of result.rows) {
    if (found.kind === 'orphan') orphans.add(found.jid);
    else known.add(`${found.jid}\0${found.id}`);
  }
  for (const jid of asked) if (!orphans.has(jid)) jids.add(jid);
  return batch.filter((row) => known.has(row.key));
}
