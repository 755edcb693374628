import type { Pool, QueryResultRow } from 'pg';
import { asJobCacheError } from './errors.ts';

/** Runs a reading query; throws JobCacheError. */
export async function select<Row extends QueryResultRow>(
  pool: Pool,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>(text, [...values])).rows;
  } catch (error) {
    throw asJobCacheError(error);
  }
}
