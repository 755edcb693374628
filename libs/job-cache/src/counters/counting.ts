import { isJid, jidTimeMs } from '@brine/job';
import type { Fields } from '@brine/wire';
import { listOf, textOf } from '@brine/wire';
import { type PreparedRow, statementParameters } from '../save/batch.ts';
import type { JobRow, ReturnRow } from '../save/rows.ts';
import type { CountLabels } from './count-labels.ts';
import { SEPARATOR } from './count-labels.ts';

/** Longer durations come from a wrong clock or jid and count as none. Ms. */
const MAX_DURATION_MS = 7 * 24 * 3600 * 1000;

/** Names of numbers in brine.counters. */
export type CounterName =
  'jobs' | 'targeted' | 'returns' | 'scheduled' | 'responses' | 'duration' | 'duration_sum';

/** A number that rows of a kind add to: 1 each, or their amount. */
interface Increment {
  readonly metric: CounterName;
  readonly labels: readonly string[];
  readonly amount?: boolean;
}

/** The numbers that a row adds to, once it is really stored. */
export interface Counting {
  /** Rows with the same text add to the same numbers. */
  readonly kind: string;
  /** Made once for each kind of a batch. */
  readonly increments: () => readonly Increment[];
  /** The sum beside the number of rows: targeted minions, milliseconds. */
  readonly amount: number;
  /** The labels of a return's duration. */
  readonly duration?: readonly [fun: string, bucket: string];
}

/** A row that counts, as the counting statement needs it. */
export interface CountedRow extends PreparedRow {
  readonly counting: Counting;
}

/**
 * Bounds of salt_job_duration_milliseconds: those of Salt 3008
 * (salt/config `metrics:histogram_boundaries`).
 */
export const DURATION_BOUNDS: readonly number[] = [
  1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000,
];

/** The bucket of a duration in DURATION_BOUNDS; the last has no bound. */
export function durationBucket(ms: number): number {
  let at = 0;
  while (at < DURATION_BOUNDS.length && ms > (DURATION_BOUNDS[at] ?? Infinity)) at += 1;
  return at;
}

/**
 * Two CTEs that add the rows of another CTE to brine.counters. They follow it in the same
 * statement, so that a row and its numbers are stored together or not at all. They read the rows
 * from the CTE `input`, whose {@link COUNTED_COLUMNS} are of {@link countedParameters}. The rows
 * are locked in one order, after all others, so that no two writers deadlock.
 * @param stored the condition that joins the other CTE to `input`
 * @param kinds the number of the last parameter
 * @param counts the sums of a kind; by default the number of its rows and their amounts
 */
export function countRowsSql(
  stored: string,
  kinds: number,
  counts = { rows: 'count(*)', amount: 'sum(input.d)' },
): string {
  return `
counted AS (
  SELECT input.g, ${counts.rows} AS n, ${counts.amount} AS d
  FROM input JOIN ${stored}
  GROUP BY input.g
),
added AS (
  INSERT INTO brine.counters AS c (metric, labels, lane, value)
  SELECT k.m, k.l, (pg_backend_pid() % 8)::smallint,
    sum(CASE WHEN k.a THEN counted.d ELSE counted.n END)
  FROM counted
  JOIN jsonb_to_recordset($${kinds}::jsonb) AS k(g integer, m text, l text, a boolean)
    ON k.g = counted.g
  GROUP BY k.m, k.l
  -- A row that adds nothing makes no number of zero.
  HAVING sum(counted.n) <> 0 OR sum(counted.d) <> 0
  ORDER BY k.m, k.l
  ON CONFLICT (metric, labels, lane) DO UPDATE SET value = c.value + excluded.value
)`;
}

/** For each row the number of its kind, and its amount. */
export const COUNTED_COLUMNS = 'g integer, d float8';

/**
 * The parameters of a batch (`statementParameters`), and the numbers that each kind adds to.
 * @param more further fields of each row
 */
export function countedParameters<Row extends CountedRow>(
  rows: readonly Row[],
  more: (row: Row) => string = () => '',
): [json: string, raw: Buffer, kinds: string] {
  const numbers = new Map<string, number>();
  const kinds: string[] = [];
  const [json, raw] = statementParameters(rows, (row) => {
    const { counting } = row;
    let g = numbers.get(counting.kind);
    if (g === undefined) {
      g = numbers.size;
      numbers.set(counting.kind, g);
      for (const { metric, labels, amount } of counting.increments()) {
        const l = JSON.stringify(labels.join(SEPARATOR));
        kinds.push(`{"g":${g},"m":"${metric}","l":${l},"a":${amount === true}}`);
      }
    }
    return `,"g":${g},"d":${counting.amount}${more(row)}`;
  });
  return [json, raw, `[${kinds.join(',')}]`];
}

/** The numbers that a job adds to, once it is published. */
export function countingOfJob(row: JobRow, load: Fields, labels: CountLabels): Counting {
  const name = [row.fun].flat().join(',');
  const fun = labels.fun(name, row.bornOfReturn !== true);
  const of = [fun, labels.state(name, listOf(load, 'arg'))];
  return {
    kind: of.join(SEPARATOR),
    amount: row.minions.length,
    increments: () => [
      { metric: 'jobs', labels: of },
      { metric: 'targeted', labels: of, amount: true },
    ],
  };
}

/** The numbers that a return adds to. */
export function countingOfReturn(
  row: ReturnRow,
  load: Fields,
  ret: { readonly fun: string; readonly failed: boolean },
  labels: CountLabels,
): Counting {
  const fun = labels.fun(ret.fun, false);
  const success = ret.failed ? 'false' : 'true';
  const of = [fun, labels.state(ret.fun, listOf(load, 'fun_args')), success];
  const metric = (textOf(load, 'schedule') ?? '') === '' ? 'returns' : 'scheduled';
  const minion = labels.minion(row.id);
  const ms = durationOf(row);
  const duration = [fun, String(durationBucket(ms))] as const;
  return {
    kind: [metric, ...of, duration[1], minion].join(SEPARATOR),
    amount: ms,
    duration,
    increments: () => [
      { metric, labels: of },
      { metric: 'responses', labels: [minion, success] },
      { metric: 'duration', labels: duration },
      { metric: 'duration_sum', labels: [fun], amount: true },
    ],
  };
}

/** From the publication, whose moment is in the jid, to the return; 0 if clocks disagree. */
export function durationOf({ jid, receivedAt }: Pick<ReturnRow, 'jid' | 'receivedAt'>): number {
  if (!isJid(jid)) return 0;
  const ms = receivedAt - jidTimeMs(jid);
  return ms >= 0 && ms <= MAX_DURATION_MS ? ms : 0;
}
