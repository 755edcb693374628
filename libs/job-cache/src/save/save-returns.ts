import type { JsonTranscoder } from '@brine/wire/text';
import type { Pool } from 'pg';
import { asJobCacheError, isRefused, isTooSlow } from '../connection/errors.ts';
import type { CountLabels } from '../counters/count-labels.ts';
import { COUNTED_COLUMNS, countedParameters, countRowsSql } from '../counters/counting.ts';
import type { DurationExamples } from '../counters/duration-examples.ts';
import { keepLastValues } from '../counters/last-values.ts';
import type { SlowRows } from './batch.ts';
import { writeInBatches, type Writing } from './batch.ts';
import { type PreparedReturn, prepareReturn } from './prepare-return.ts';
import { quarantine } from './quarantine.ts';
import type { RefusedRow, ReturnRow, SaveReport } from './rows.ts';
import { type JidMemory, saveJobs } from './save-jobs.ts';
import { RETURN_OF_ROW, RETURN_ROWS, settleKnownReturns } from './settle-returns.ts';
import { saveSightings } from './sightings.ts';

/**
 * A row that a minion wrote itself (000005.sql) gives way to its return from the stream. $4: the
 * jids of the batch that are not yet known to have a job. The JSON is read only once, since parsing
 * is most of the cost of a row.
 */
const INSERT_RETURNS = `
WITH input AS MATERIALIZED (SELECT i.* ${RETURN_ROWS(`, ${COUNTED_COLUMNS}`)}),
inserted AS (
  INSERT INTO brine.returns AS known (jid, id, fun, retcode, success, failed, full_ret, raw,
    received_at, incarnation, seq, content)
  SELECT ${RETURN_OF_ROW} FROM input i
  ON CONFLICT (jid, id) DO UPDATE SET (fun, retcode, success, failed, full_ret, raw, received_at,
    incarnation, seq, content) = (excluded.fun, excluded.retcode, excluded.success, excluded.failed,
    excluded.full_ret, excluded.raw, excluded.received_at, excluded.incarnation, excluded.seq,
    excluded.content)
  WHERE known.incarnation = '~pgjsonb'
  RETURNING known.jid, known.id
),
orphaned AS (
  INSERT INTO brine.orphans (jid)
  SELECT asked FROM unnest($4::text[]) AS asked
  WHERE NOT EXISTS (SELECT FROM brine.jobs WHERE jobs.jid = asked)
  ON CONFLICT (jid) DO UPDATE SET seen_at = orphans.seen_at
  RETURNING jid
),${countRowsSql('inserted ON inserted.jid = input.jid AND inserted.id = input.id', 3)}
SELECT (SELECT count(*)::integer FROM inserted) AS stored,
  ARRAY(SELECT jid FROM orphaned) AS orphans`;

/** The memory of a process between batches. */
export interface SavingState {
  readonly jids: JidMemory;
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
  const { jids, examples, keepReturns, slow } = state;
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
  const born = prepared.flatMap((p) => (p.born && !jids.has(p.row.jid) ? [p.born] : []));
  if (born.length > 0) refused.push(...(await saveJobs(pool, born, state)).refused);
  const write = async (batch: readonly PreparedReturn[]): Promise<void> => {
    const fresh = await insertReturns(pool, batch, jids);
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
async function insertReturns(
  pool: Pool,
  batch: readonly PreparedReturn[],
  jids: JidMemory,
): Promise<number> {
  const asked = [...new Set(batch.map(({ row }) => row.jid))].filter((jid) => !jids.has(jid));
  const result = await pool.query<{ stored: number; orphans: string[] }>({
    name: 'insert-returns',
    text: INSERT_RETURNS,
    values: [...countedParameters(batch), asked.sort()],
  });
  const [found] = result.rows;
  if (found === undefined) throw new Error('an aggregate without a row');
  const orphans = new Set(found.orphans);
  for (const jid of asked) if (!orphans.has(jid)) jids.add(jid);
  return found.stored;
}
