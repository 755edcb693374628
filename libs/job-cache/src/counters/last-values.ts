import type { Fields } from '@brine/wire';
import { isMap, listOf, SaltFloat } from '@brine/wire';
import type { Pool } from 'pg';
import type { ReturnRow } from '../save/rows.ts';
import type { CountLabels } from './count-labels.ts';
import { OTHER, SEPARATOR } from './count-labels.ts';

/** Names of numbers in brine.last_values. */
export type LastValueName = 'function_status' | 'state_duration';

/** A number whose last value counts. */
export interface LastValue {
  readonly metric: LastValueName;
  readonly labels: string;
  readonly value: number;
  /** Unix ms. */
  readonly at: number;
}

const KEEP_LAST = `
INSERT INTO brine.last_values AS l (metric, labels, value, at)
SELECT i.m, i.l, i.v, to_timestamp(i.t / 1000.0)
FROM jsonb_to_recordset($1::jsonb) AS i(m text, l text, v float8, t float8)
ORDER BY i.m, i.l
ON CONFLICT (metric, labels) DO UPDATE SET value = excluded.value, at = excluded.at
WHERE l.at <= excluded.at`;

/**
 * The last values of a run of states: how long it took, and for a highstate whether it went well,
 * by minion (salt-exporter's metrics and its default filters).
 */
export function lastValuesOfReturn(
  row: ReturnRow,
  load: Fields,
  ret: { readonly fun: string; readonly failed: boolean },
  labels: CountLabels,
): readonly LastValue[] {
  if (!ret.fun.startsWith('state.')) return [];
  const values: LastValue[] = [];
  const state = labels.state(ret.fun, listOf(load, 'fun_args'));
  const fun = labels.fun(ret.fun, false);
  const ms = stateMilliseconds(load);
  const at = row.receivedAt;
  if (ms !== undefined) {
    const of = [fun, state].join(SEPARATOR);
    values.push({ metric: 'state_duration', labels: of, value: ms / 1000, at });
  }
  const minion = labels.minion(row.id);
  if (ret.fun === 'state.highstate' && minion !== OTHER) {
    const of = [minion, fun, state].join(SEPARATOR);
    values.push({ metric: 'function_status', labels: of, value: ret.failed ? 0 : 1, at });
  }
  return values;
}

/** Keeps the latest value of each number. Throws as the client does. */
export async function keepLastValues(pool: Pool, values: readonly LastValue[]): Promise<void> {
  const latest = new Map<string, LastValue>();
  for (const value of values) {
    const key = `${value.metric}\0${value.labels}`;
    if ((latest.get(key)?.at ?? 0) <= value.at) latest.set(key, value);
  }
  if (latest.size === 0) return;
  const rows = Array.from(latest.values(), ({ metric, labels, value, at }) => {
    return { m: metric, l: labels, v: value, t: at };
  });
  await pool.query({ name: 'keep-last', text: KEEP_LAST, values: [JSON.stringify(rows)] });
}

/** The sum of the milliseconds of all states of a return; undefined without states. */
function stateMilliseconds(load: Fields): number | undefined {
  const states = load.get('return');
  if (!isMap(states) || states.size === 0) return undefined;
  let sum = 0;
  for (const state of states.values()) {
    const duration = isMap(state) ? state.get('duration') : undefined;
    const ms = duration instanceof SaltFloat ? duration.value : duration;
    if (typeof ms !== 'number') return undefined;
    sum += ms;
  }
  // NaN and infinite times count as absent.
  return Number.isFinite(sum) ? sum : undefined;
}
