import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { type Ledger, ledgerOf, type ReturnState } from '../read/get-job.ts';

const COUNTS = `
SELECT jid, state, count(*)::integer AS count,
  (count(*) FILTER (WHERE unexpected))::integer AS unexpected
FROM brine.ledger WHERE jid = ANY ($1::text[]) GROUP BY jid, state`;

interface StateCount {
  readonly jid: string;
  readonly state: ReturnState;
  readonly count: number;
  readonly unexpected: number;
}

/** The ledgers of some jobs, by jid. */
export async function countsOf(
  pool: Pool,
  jids: readonly string[],
): Promise<ReadonlyMap<string, Ledger>> {
  const rows = jids.length === 0 ? [] : await select<StateCount>(pool, COUNTS, [jids]);
  const found = new Map<string, StateCount[]>(jids.map((jid) => [jid, []]));
  for (const row of rows) found.get(row.jid)?.push(row);
  return new Map([...found].map(([jid, states]) => [jid, ledgerOf(states, 0)]));
}
