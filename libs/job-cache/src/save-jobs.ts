import type { Pool } from 'pg';
import { toJson, unpackMap } from '@brine/wire';
import { statementParameters, writeInBatches } from './batch.ts';
import type { PreparedRow } from './batch.ts';
import type { CountLabels } from './count-labels.ts';
import { countParameters, countRowsSql } from './count-rows.ts';
import type { Counting } from './count-rows.ts';
import { countingOfJob } from './counting.ts';
import type { JidMemory } from './jid-memory.ts';
import { quarantine } from './quarantine.ts';
import type { JobRow, RefusedRow, SaveReport } from './rows.ts';

/** The origins of a job's row, lowest first: the lowest counts (000001.sql). */
const ORIGIN = { publication: 0, bornOfReturn: 2 } as const;

const UPSERT_JOBS = `
WITH saved AS (
  INSERT INTO brine.jobs AS j (jid, load, load_raw, principal, "user", fun, tgt, tgt_type, minions,
    missing, published_at, deadline_at, not_after, hidden, origin, host, request_id, incarnation,
    seq, newly_published)
  SELECT i.jid, i.load, substring($2::bytea FROM i.start FOR i.length), i.principal, i."user",
    ARRAY(SELECT jsonb_array_elements_text(i.fun)), ARRAY(SELECT jsonb_array_elements_text(i.tgt)),
    i.tgt_type, ARRAY(SELECT jsonb_array_elements_text(i.minions)),
    ARRAY(SELECT jsonb_array_elements_text(i.missing)),
    to_timestamp(i.published_at / 1000.0), to_timestamp(i.deadline_at / 1000.0),
    to_timestamp(i.not_after / 1000.0), i.hidden, i.origin, i.host, i.request_id, i.incarnation,
    i.seq, i.origin = 0
  FROM jsonb_to_recordset($1::jsonb) AS i(jid text, load jsonb, principal text, "user" text,
    fun jsonb, tgt jsonb, tgt_type text, minions jsonb, missing jsonb, published_at float8,
    deadline_at float8, not_after float8, hidden boolean, origin smallint, host text,
    request_id text, incarnation text, seq bigint, start integer, length integer)
  ON CONFLICT (jid) DO UPDATE SET load = excluded.load, load_raw = excluded.load_raw,
    principal = excluded.principal, "user" = excluded."user", fun = excluded.fun,
    tgt = excluded.tgt, tgt_type = excluded.tgt_type, minions = excluded.minions,
    missing = excluded.missing, published_at = excluded.published_at,
    deadline_at = excluded.deadline_at, not_after = excluded.not_after,
    hidden = excluded.hidden, origin = excluded.origin, host = excluded.host,
    request_id = excluded.request_id, incarnation = excluded.incarnation, seq = excluded.seq,
    newly_published = j.origin <> 0 AND excluded.origin = 0
  WHERE (excluded.origin, excluded.incarnation, excluded.seq) < (j.origin, j.incarnation, j.seq)
  RETURNING j.jid, j.newly_published
),${countRowsSql('saved ON saved.newly_published AND saved.jid = r.j', 3)}
-- The snapshot is that of before the statement: what it does not show is new.
SELECT count(*)::integer AS stored FROM saved
WHERE NOT EXISTS (SELECT FROM brine.jobs WHERE jobs.jid = saved.jid)`;

interface PreparedJob extends PreparedRow {
  readonly row: JobRow;
  readonly counting: Counting;
}

/**
 * Stores jobs; each batch is one statement. Of several rows of a jid a publication counts before
 * what others wrote and before a job born of a return, then the lowest stream position.
 *
 * Throws JobCacheError (retryable for outages); the same rows can be given again.
 */
export async function saveJobs(
  pool: Pool,
  rows: readonly JobRow[],
  { jids, labels }: { readonly jids: JidMemory; readonly labels: CountLabels },
): Promise<SaveReport> {
  const refused: RefusedRow[] = [];
  const prepared: PreparedJob[] = [];
  let stored = 0;
  let known = 0;
  const refuse = async (row: JobRow, error: unknown): Promise<void> => {
    const { jid, incarnation, seq } = row;
    const refusal = { kind: 'job', jid, id: '', incarnation, seq, raw: wholeRow(row) } as const;
    refused.push(await quarantine(pool, refusal, error));
  };
  for (const row of rows) {
    try {
      prepared.push(prepareJob(row, labels));
    } catch (error) {
      await refuse(row, error);
    }
  }
  await writeInBatches(
    prepared,
    async (batch) => {
      const result = await pool.query<{ stored: number }>({
        name: 'upsert-jobs',
        text: UPSERT_JOBS,
        values: [...statementParameters(batch), ...countParameters(batch)],
      });
      const added = result.rows[0]?.stored ?? 0;
      stored += added;
      known += batch.length - added;
      for (const { row } of batch) jids.add(row.jid);
    },
    ({ row }, error) => refuse(row, error),
  );
  return { stored, known, replaced: 0, refused };
}

function prepareJob(row: JobRow, labels: CountLabels): PreparedJob {
  const load = unpackMap(row.load);
  const fields = {
    jid: row.jid,
    principal: row.principal,
    user: row.user,
    fun: [row.fun].flat(),
    tgt: [row.tgt].flat(),
    tgt_type: row.tgtType,
    minions: row.minions,
    missing: row.missing,
    published_at: row.publishedAt,
    deadline_at: row.deadlineAt ?? null,
    not_after: row.notAfter ?? null,
    hidden: row.hidden ?? false,
    origin: row.bornOfReturn === true ? ORIGIN.bornOfReturn : ORIGIN.publication,
    host: row.host ?? '',
    request_id: row.requestId ?? '',
    incarnation: row.incarnation,
    seq: row.seq,
  };
  const json = `${JSON.stringify(fields).slice(0, -1)},"load":${toJson(load).json}`;
  const counting = countingOfJob(row, load, labels);
  return { key: row.jid, json, raw: row.load, row, counting };
}

/** Everything of a row as JSON bytes, the load in base64: what quarantine keeps of a job. */
function wholeRow(row: JobRow): Buffer {
  const load = Buffer.from(row.load.buffer, row.load.byteOffset, row.load.byteLength);
  return Buffer.from(JSON.stringify({ ...row, load: load.toString('base64') }));
}
