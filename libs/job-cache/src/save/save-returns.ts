import type { JsonTranscoder } from '@brine/wire/text';
import type { Pool } from 'pg';
import { asJobCacheError, isRefused, isTooSlow } from '../connection/errors.ts';
import type { CountLabels } from '../counters/count-labels.ts';
import { COUNTED_COLUMNS, countedParameters, countRowsSql } from '../counters/counting.ts';
import type { DurationExamples } from '../counters/duration-examples.ts';
import { keepLastValues } from '../counters/last-values.ts';
import type { JobMemory } from '../counts/job-memory.ts';
import type { SlowRows } from './batch.ts';
import { writeInBatches, type Writing } from './batch.ts';
import { type PreparedReturn, prepareReturn } from './prepare-return.ts';
import { quarantine } from './quarantine.ts';
import type { RefusedRow, ReturnRow, SaveReport } from './rows.ts';
import { saveJobs } from './save-jobs.ts';
import { RETURN_OF_ROW, RETURN_ROWS, settleKnownReturns } from './settle-returns.ts';
import { saveSightings } from './sightings.ts';

/** `x`: how many targets the minion is none of, or -1 for a target that may be late. */
const DOUBTED = `
doubted AS (
  INSERT INTO brine.doubts AS known (jid, id, received_at, failed, outside)
  SELECT i.jid, i.id, i.received_at, i.failed, nullif(input.x, -1)
  FROM input JOIN inserted i ON i.jid = input.jid AND i.id = input.id
  WHERE input.x IS NOT NULL ORDER BY i.jid, i.id
  ON CONFLICT (jid, id) DO UPDATE SET received_at = excluded.received_at,
    failed = excluded.failed, outside = greatest(known.outside, excluded.outside)
),`;

/**
 * A row that a minion wrote itself (000005.sql) gives way to its return from the stream. $4: the
 * jids of the batch that had no job a moment ago. The JSON is read only once, since parsing is most
 * of the cost of a row. The statement counts its rows by itself (counts.sql), and notes it first.
 */
const insertReturns = (doubted: string): string => `
WITH input AS MATERIALIZED (SELECT i.* ${RETURN_ROWS(`, ${COUNTED_COLUMNS}, x integer`)}),
inserted AS (
  INSERT INTO brine.returns AS known (jid, id, fun, retcode, success, failed, full_ret, raw,
    received_at, incarnation, seq, content)
  SELECT ${RETURN_OF_ROW}
  FROM set_config('brine.counts', 'statement', true) AS noted, input i
  ON CONFLICT (jid, id) DO UPDATE SET (fun, retcode, success, failed, full_ret, raw, received_at,
    incarnation, seq, content) = (excluded.fun, excluded.retcode, excluded.success, excluded.failed,
    excluded.full_ret, excluded.raw, excluded.received_at, excluded.incarnation, excluded.seq,
    excluded.content)
  WHERE known.incarnation = '~pgjsonb'
  RETURNING known.jid, known.id, known.failed, known.received_at
),
orphaned AS (
  INSERT INTO brine.orphans (jid)
  SELECT unnest($4::text[]) ON CONFLICT (jid) DO UPDATE SET seen_at = orphans.seen_at
),
came AS (
  INSERT INTO brine.job_counts AS c (jid, lane, came, failed, last_at)
  SELECT jid, (pg_backend_pid() % 8)::smallint, count(*), count(*) FILTER (WHERE failed),
    max(received_at)
  FROM inserted GROUP BY jid ORDER BY jid
  ON CONFLICT (jid, lane) DO UPDATE SET came = c.came + excluded.came,
    failed = c.failed + excluded.failed, last_at = greatest(c.last_at, excluded.last_at)
),${doubted}${countRowsSql('inserted ON inserted.jid = input.jid AND inserted.id = input.id', 3)}
SELECT count(*)::integer AS stored FROM inserted`;

/** Most batches have no doubt. */
const SURE = { name: 'insert-sure-returns', text: insertReturns('') };
const DOUBTFUL = { name: 'insert-returns', text: insertReturns(DOUBTED) };

/** The memory of a process between batches. */
export interface SavingState {
  readonly jobs: JobMemory;
  readonly labels: CountLabels;
  readonly transcoder: JsonTranscoder;
  readonly examples: DurationExamples;
  /** False: returns are counted and their content is dropped. */
  readonly keepReturns: boolean;
  readonly slow: SlowRows;
  readonly slowJobs: SlowRows;
}

/**
 * Stores returns; each batch is one statement. The first of a (jid, minion) by stream position
 * counts. Others with another content are kept as evidence, in any order of arrival.
 *
 * Throws JobCacheError (retryable for outages); the same rows can be given again.
 */
export async function saveReturns(
  pool: Pool,
  rows: readonly ReturnRow[],
  state: SavingState,
): Promise<SaveReport> {
  const { jobs, examples, keepReturns, slow } = state;
  const refused: RefusedRow[] = [];
  const prepared: PreparedReturn[] = [];
  let stored = 0;
  let known = 0;
  let replaced = 0;
  for (const row of rows) {
    try {
      prepared.push(prepareReturn(row, state, { content: keepReturns }));
    } catch (error) {
      refused.push(await quarantine(pool, { ...row, kind: 'return', raw: row.load }, error));
    }
  }
  const born = prepared.flatMap((p) => (p.born && !jobs.has(p.row.jid) ? [p.born] : []));
  if (born.length > 0) refused.push(...(await saveJobs(pool, born, state)).refused);
  const write = async (batch: readonly PreparedReturn[]): Promise<void> => {
    const fresh = await storeNew(pool, batch, jobs);
    if (fresh < batch.length) replaced += await settleKnownReturns(pool, batch);
    await keepLastValues(
      pool,
      batch.flatMap(({ lastValues }) => lastValues),
    );
    const seen = batch.flatMap(({ sighting }) => sighting ?? []);
    const [unfit] = seen.length > 0 ? await saveSightings(pool, seen) : [];
    if (unfit !== undefined) throw asJobCacheError(unfit.error);
    // One return of a batch is enough for an exemplar.
    if (batch[0] !== undefined) examples.note(batch[0]);
    stored += fresh;
    known += batch.length - fresh;
  };
  const refuse: Writing<PreparedReturn>['refuse'] = async ({ row }, error, isSure) => {
    try {
      // The return counts whatever its content: PostgreSQL takes it as bytes alone.
      await write([prepareReturn(row, state, { content: keepReturns, referred: true })]);
    } catch (again) {
      if (!isRefused(again) && !(isSure && isTooSlow(again))) throw asJobCacheError(again);
      refused.push(await quarantine(pool, { ...row, kind: 'return', raw: row.load }, error));
    }
  };
  await writeInBatches(prepared, { write, refuse, slow });
  return { stored, known, replaced, refused };
}

/** Inserts new returns; resolves with their number. */
async function storeNew(
  pool: Pool,
  batch: readonly PreparedReturn[],
  jobs: JobMemory,
): Promise<number> {
  const rows = batch.map(({ row }) => row);
  const jobless = await jobs.load(pool, rows);
  let doubts = 0;
  const parameters = countedParameters(batch, ({ row }) => {
    const doubt = jobs.doubt(row);
    if (doubt === undefined) return '';
    doubts += 1;
    return `,"x":${doubt.may === 'be late' ? -1 : doubt.outside}`;
  });
  const result = await pool.query<{ stored: number }>({
    ...(doubts > 0 ? DOUBTFUL : SURE),
    values: [...parameters, jobless],
  });
  const [found] = result.rows;
  if (found === undefined) throw new Error('an aggregate without a row');
  return found.stored;
}
