import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import type { ReturnState } from '../read/ledger.ts';

/** A minion in a job. */
export interface MinionLine {
  readonly id: string;
  readonly state: ReturnState;
  /** Absent without a return, or without one number in it. */
  readonly retcode: number | undefined;
  /** When its return came, unix ms. */
  readonly receivedAt: number | undefined;
  /** It returned without being a target. */
  readonly unexpected: boolean;
}

/** A page of the minions of a job, in the order of their ids. */
export interface MinionLines {
  readonly minions: readonly MinionLine[];
  /** Give it as `after` for the next page; undefined on the last. */
  readonly next: string | undefined;
}

const MINIONS = `
SELECT id, state, retcode, extract(epoch FROM received_at)::float8 * 1000 AS received_at, unexpected
FROM brine.ledger
WHERE jid = $1 AND id > $2 AND ($3::text IS NULL OR state = $3)
  AND ($4::text IS NULL OR strpos(id, $4) > 0) AND ($5::text[] IS NULL OR id = ANY ($5))
ORDER BY id COLLATE "C" LIMIT $6`;

interface Line {
  readonly id: string;
  readonly state: ReturnState;
  readonly retcode: number | null;
  readonly received_at: number | null;
  readonly unexpected: boolean;
}

/** Selects minions of a job; a minion has to meet all conditions. */
export interface MinionFilter {
  readonly state?: ReturnState;
  /** A part of its id. */
  readonly part?: string;
  /** One of these. */
  readonly ids?: readonly string[];
}

/** The minions of a job that meet a filter. */
export async function minionLines(
  pool: Pool,
  jid: string,
  { state, part, ids }: MinionFilter,
  { limit, after = '' }: { readonly limit: number; readonly after?: string },
): Promise<MinionLines> {
  const values = [jid, after, state ?? null, part ?? null, ids ?? null, limit + 1];
  const rows = await select<Line>(pool, MINIONS, values);
  const minions = rows.slice(0, limit).map((row): MinionLine => {
    const { id, unexpected, retcode, received_at: receivedAt } = row;
    return {
      id,
      state: row.state,
      retcode: retcode ?? undefined,
      receivedAt: receivedAt === null ? undefined : Math.round(receivedAt),
      unexpected,
    };
  });
  return { minions, next: rows.length > limit ? minions.at(-1)?.id : undefined };
}
