import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

/** When the returns of a job came. Times are unix ms. */
export interface JobTimeline {
  readonly from: number;
  readonly to: number;
  /** Returns of each part of that time, all of one length. */
  readonly bins: readonly { readonly ok: number; readonly failed: number }[];
}

const TIMELINE = `
WITH came AS MATERIALIZED (
  SELECT extract(epoch FROM received_at)::float8 * 1000 AS at, failed FROM brine.returns
  WHERE jid = $1 AND ($2::text[] IS NULL OR id = ANY ($2))
), span AS (
  SELECT least((SELECT extract(epoch FROM published_at)::float8 * 1000 FROM brine.jobs
    WHERE jid = $1), min(at)) AS start, max(at) AS stop FROM came
)
SELECT start, stop,
  least(width_bucket(at, start, greatest(stop, start + 1), $3::integer), $3) AS bin,
  (count(*) FILTER (WHERE NOT failed))::integer AS ok,
  (count(*) FILTER (WHERE failed))::integer AS failed
FROM came, span GROUP BY 1, 2, 3`;

interface Bin {
  readonly start: number;
  readonly stop: number;
  readonly bin: number;
  readonly ok: number;
  readonly failed: number;
}

/** When the returns of a job came, from its publication on; undefined without any. */
export async function jobTimeline(
  pool: Pool,
  jid: string,
  { bins, ids }: { readonly bins: number; readonly ids?: readonly string[] },
): Promise<JobTimeline | undefined> {
  const rows = await select<Bin>(pool, TIMELINE, [jid, ids ?? null, bins]);
  const [first] = rows;
  if (first === undefined) return undefined;
  const found = Array.from({ length: bins }, () => ({ ok: 0, failed: 0 }));
  for (const { bin, ok, failed } of rows) found[bin - 1] = { ok, failed };
  const { start, stop } = first;
  return {
    from: Math.floor(start),
    to: Math.max(Math.ceil(stop), Math.floor(start) + 1),
    bins: found,
  };
}
