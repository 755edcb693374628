import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

/** Most returns of one question. */
export const MAX_ASKED_RETURNS = 1_000;

/** A return in quarantine counts too: it is stored, so its minion need not send it again. */
const STORED = `
SELECT asked.n::integer AS n
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked(jid, id, n)
WHERE EXISTS (SELECT FROM brine.returns r WHERE r.jid = asked.jid AND r.id = asked.id)
  OR EXISTS (SELECT FROM brine.quarantine q
    WHERE q.kind = 'return' AND q.jid = asked.jid AND q.id = asked.id)`;

/** A return by its job and minion. */
export interface AskedReturn {
  readonly jid: string;
  readonly id: string;
}

/** For each of these, up to 1,000, whether a return of that job and minion is committed. */
export async function storedReturns(
  pool: Pool,
  asked: readonly AskedReturn[],
): Promise<readonly boolean[]> {
  const some = asked.slice(0, MAX_ASKED_RETURNS);
  const values = [some.map(({ jid }) => jid), some.map(({ id }) => id)];
  const rows = await select<{ n: number }>(pool, STORED, values);
  const stored = some.map(() => false);
  for (const { n } of rows) stored[n - 1] = true;
  return stored;
}
