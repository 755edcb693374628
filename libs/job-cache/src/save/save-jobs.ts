import { unpackMap } from '@brine/wire';
import type { Pool } from 'pg';
import { asJobCacheError } from '../connection/errors.ts';
import type { CountLabels } from '../counters/count-labels.ts';
import type { CountedRow } from '../counters/counting.ts';
import {
  COUNTED_COLUMNS,
  countedParameters,
  countingOfJob,
  countRowsSql,
} from '../counters/counting.ts';
import type { JobMemory } from '../counts/job-memory.ts';
import type { SlowRows } from './batch.ts';
import { writeInBatches } from './batch.ts';
import { fullLoad } from './full-ret.ts';
import { quarantine } from './quarantine.ts';
import { refusalOfJob } from './quarantine-forms.ts';
import type { JobRow, RefusedRow, SaveReport } from './rows.ts';

/** The origins of a job's row; the lowest counts (000001.sql). */
const ORIGIN = { publication: 0, syndic: 1, bornOfReturn: 2 } as const;

const POSITION = (of: string): string => `(${of}.origin, ${of}.incarnation, ${of}.seq)`;
const IS_LOWER = `${POSITION('excluded')} < ${POSITION('j')}`;
const IS_OTHER = `${POSITION('excluded')} <> ${POSITION('j')}`;

/** Both were published: parts of one job (a batch), each with targets of its own. */
const PARTS = 'j.origin = 0 AND excluded.origin = 0';

/** From a lower master, whose minions add to the targets. */
const BELOW = `excluded.origin = ${ORIGIN.syndic}`;

/** Columns that a job has once; of several parts the first decides. */
const OF_THE_LOWEST = [
  'load',
  'load_raw',
  'principal',
  '"user"',
  'fun',
  'tgt',
  'tgt_type',
  'published_at',
  'hidden',
  'host',
  'request_id',
  'origin',
  'begun_by',
  'incarnation',
  'seq',
];

const lowest = (name: string): string =>
  `CASE WHEN ${IS_LOWER} THEN excluded.${name} ELSE j.${name} END`;
const TAKE_LOWEST = OF_THE_LOWEST.map((name) => `${name} = ${lowest(name)}`).join(', ');

/**
 * Parts unite their targets. Targets from lower masters stay through every change of the row. A job
 * born of a return gives up its only target when another row replaces it.
 */
const MINIONS = `CASE WHEN ${PARTS} OR NOT ${IS_LOWER}
  THEN brine.united(j.minions, excluded.minions)
  ELSE brine.united(excluded.minions, CASE j.origin WHEN ${ORIGIN.syndic} THEN j.minions
    ELSE '{}' END) END`;
const MISSING = `CASE WHEN ${PARTS} THEN brine.united(j.missing, excluded.missing)
  ELSE ${lowest('missing')} END`;

/** The deadline of a publication counts, since a lower master's clock may differ. */
const OF_THE_PUBLICATION = (both: string, j: string, excluded: string): string =>
  `CASE WHEN ${BELOW} AND j.origin = 0 THEN ${j}
    WHEN excluded.origin = 0 AND j.origin = ${ORIGIN.syndic} THEN ${excluded} ELSE ${both} END`;
/** Minions that are new to the row may have been seen running before. */
const DEADLINE = OF_THE_PUBLICATION(
  'greatest(j.deadline_at, excluded.deadline_at)',
  `greatest(j.deadline_at, brine.running_until(j.jid, excluded.minions, j.published_at,
      coalesce(j.deadline_after, j.deadline_at - j.published_at)))`,
  `greatest(excluded.deadline_at, brine.running_until(j.jid, j.minions, excluded.published_at,
      excluded.deadline_after))`,
);
const DEADLINE_AFTER = OF_THE_PUBLICATION(
  'greatest(j.deadline_after, excluded.deadline_after)',
  'j.deadline_after',
  'excluded.deadline_after',
);

const UPSERT_JOBS = `
WITH input AS MATERIALIZED (
  SELECT i.* FROM jsonb_to_recordset($1::jsonb) AS i(jid text, load jsonb, principal text,
    "user" text, fun jsonb, tgt jsonb, tgt_type text, minions jsonb, missing jsonb,
    published_at float8, deadline_at float8, not_after float8, hidden boolean, origin smallint,
    begun_by text, host text, request_id text, incarnation text, seq bigint, start integer,
    length integer, deadline_after float8, ${COUNTED_COLUMNS})
),
saved AS (
  INSERT INTO brine.jobs AS j (jid, load, load_raw, principal, "user", fun, tgt, tgt_type, minions,
    missing, published_at, deadline_at, not_after, hidden, origin, begun_by, host, request_id,
    incarnation, seq, newly_published, deadline_after, newly_targeted)
  SELECT i.jid, i.load, substring($2::bytea FROM i.start FOR i.length), i.principal, i."user",
    ARRAY(SELECT jsonb_array_elements_text(i.fun)), ARRAY(SELECT jsonb_array_elements_text(i.tgt)),
    i.tgt_type, ARRAY(SELECT jsonb_array_elements_text(i.minions)),
    ARRAY(SELECT jsonb_array_elements_text(i.missing)),
    to_timestamp(i.published_at / 1000.0),
    greatest(to_timestamp(i.deadline_at / 1000.0), CASE WHEN i.deadline_at IS NOT NULL THEN
      brine.running_until(i.jid, ARRAY(SELECT jsonb_array_elements_text(i.minions)),
        to_timestamp(i.published_at / 1000.0), i.deadline_after * interval '1 millisecond') END),
    to_timestamp(i.not_after / 1000.0), i.hidden, i.origin, i.begun_by, i.host, i.request_id,
    i.incarnation, i.seq, i.origin = 0, i.deadline_after * interval '1 millisecond',
    CASE WHEN i.origin = 0 THEN jsonb_array_length(i.minions) ELSE 0 END
  FROM input i
  ON CONFLICT (jid) DO UPDATE SET ${TAKE_LOWEST},
    minions = ${MINIONS}, missing = ${MISSING},
    deadline_at = ${DEADLINE}, deadline_after = ${DEADLINE_AFTER},
    not_after = CASE WHEN ${PARTS} THEN greatest(j.not_after, excluded.not_after)
      ELSE ${lowest('not_after')} END,
    newly_published = j.origin <> 0 AND excluded.origin = 0,
    newly_targeted = CASE WHEN j.origin = 0 THEN cardinality(${MINIONS}) - cardinality(j.minions)
      WHEN excluded.origin = 0 THEN cardinality(${MINIONS}) ELSE 0 END
  WHERE ${IS_LOWER} OR (${PARTS} OR ${BELOW}) AND ${IS_OTHER} AND (
    ${MINIONS} <> j.minions OR ${MISSING} <> j.missing
    OR ${DEADLINE} IS DISTINCT FROM j.deadline_at
    OR ${PARTS} AND excluded.not_after > j.not_after)
  RETURNING j.jid, j.newly_published, j.newly_targeted
),${countRowsSql('saved ON saved.jid = input.jid', 3, {
  rows: 'count(*) FILTER (WHERE saved.newly_published)',
  amount: 'sum(saved.newly_targeted)',
})}
-- The snapshot is that of before the statement: what it does not show is new.
SELECT count(*)::integer AS stored FROM saved
WHERE NOT EXISTS (SELECT FROM brine.jobs WHERE jobs.jid = saved.jid)`;

interface PreparedJob extends CountedRow {
  readonly row: JobRow;
}

/**
 * Stores jobs; each batch is one statement. Of several rows of a jid a publication counts first,
 * then rows of other writers, then a job born of a return; within these the lowest stream position.
 * Several publications of a jid are parts of one job: its targets are those of all, its deadline
 * the last. Minions that lower masters expect add to the targets, before or after the publication.
 *
 * Throws JobCacheError (retryable for outages); the same rows can be given again.
 */
export async function saveJobs(
  pool: Pool,
  rows: readonly JobRow[],
  state: { readonly jobs: JobMemory; readonly labels: CountLabels; readonly slowJobs: SlowRows },
): Promise<SaveReport> {
  const { jobs, labels, slowJobs } = state;
  const refused: RefusedRow[] = [];
  const prepared: PreparedJob[] = [];
  let stored = 0;
  let known = 0;
  const refuse = async (row: JobRow, error: unknown): Promise<void> => {
    refused.push(await quarantine(pool, refusalOfJob(row), error));
  };
  for (const row of rows) {
    try {
      prepared.push(prepareJob(row, labels));
    } catch (error) {
      await refuse(row, error);
    }
  }
  await writeInBatches(prepared, {
    slow: slowJobs,
    write: async (batch) => {
      const result = await pool.query<{ stored: number }>({
        name: 'upsert-jobs',
        text: UPSERT_JOBS,
        values: countedParameters(batch),
      });
      const added = result.rows[0]?.stored ?? 0;
      stored += added;
      known += batch.length - added;
      for (const { row } of batch) remember(jobs, row);
    },
    refuse: ({ row }, error, isSure) => {
      if (!isSure) throw asJobCacheError(error);
      return refuse(row, error);
    },
  });
  return { stored, known, replaced: 0, refused };
}

function remember(jobs: JobMemory, row: JobRow): void {
  if (originOf(row) !== ORIGIN.publication) jobs.add(row.jid);
  else jobs.addPublished(row.jid, row.minions, row.deadlineAt);
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
    deadline_after: row.deadlineAt === undefined ? null : row.deadlineAt - row.publishedAt,
    not_after: row.notAfter ?? null,
    hidden: row.hidden ?? false,
    origin: originOf(row),
    begun_by: row.origin ?? null,
    host: row.host ?? '',
    request_id: row.requestId ?? '',
    incarnation: row.incarnation,
    seq: row.seq,
  };
  const json = `${JSON.stringify(fields).slice(0, -1)},"load":${fullLoad(load, row.load)}`;
  const counting = countingOfJob(row, load, labels);
  return { key: row.jid, json, raw: row.load, row, counting };
}

function originOf({ bornOfReturn, syndic }: JobRow): number {
  if (bornOfReturn === true) return ORIGIN.bornOfReturn;
  return syndic === undefined ? ORIGIN.publication : ORIGIN.syndic;
}
