import type { SaltMap } from '@brine/wire';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { type LoadColumns, readLoad } from './get-load.ts';

/** Minions of one page. */
const MAX_MINIONS = 1_000;
/** Earlier jobs that are searched for missing answers. */
const EARLIER_JOBS = 10;
/** Returns of a minion, newest jids first, that are searched for its latest answer. */
const LAST_RETURNS = 8;

/** Times of a kind of sighting, unix ms. */
export interface Sighting {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
  readonly reason: string | undefined;
}

/** The database's evidence about one minion that is silent about a job. Times are unix ms. */
export interface SilentMinion {
  readonly id: string;
  readonly targeted: boolean;
  /** The counted return, if one exists (late, or the minion was asked for by name). */
  readonly returnedMs: number | undefined;
  /** The incarnation of its stream; `~pgjsonb`: written by Salt's returner. */
  readonly incarnation: string | undefined;
  /** By kind: running, not_running, refused, expired, sent_again. */
  readonly sightings: ReadonlyMap<string, Sighting>;
  readonly logInsMs: readonly number[];
  /** Last return to an earlier job, received before the publication. */
  readonly heardBeforeMs: number | undefined;
  /** Last return to another job, received after the publication. */
  readonly heardAfterMs: number | undefined;
  /** How many of the ten earlier jobs it left unanswered since its last return. */
  readonly unansweredBefore: number;
}

/** The job, and a page of its silent minions by id. */
export interface SilentPage {
  readonly load: SaltMap;
  readonly publishedMs: number;
  readonly deadlineMs: number | undefined;
  readonly minions: readonly SilentMinion[];
  /** Give it as `after` for the next page; undefined on the last. */
  readonly next: string | undefined;
}

const MS = (column: string): string => `extract(epoch FROM ${column})::float8 * 1000`;

const JOB = `
SELECT load_raw AS raw, CASE WHEN load_raw IS NULL THEN load::text END AS json,
  ${MS('published_at')} AS published, ${MS('deadline_at')} AS deadline
FROM brine.jobs WHERE jid = $1`;

/** $2 ids that are asked for or null, $3 the last id of the page before, $4 the size of a page. */
const SILENT = `
WITH job AS (SELECT jid, minions, missing, published_at, deadline_at FROM brine.jobs
  WHERE jid = $1),
named AS (
  SELECT DISTINCT name COLLATE "C" AS id FROM job, unnest(coalesce($2, minions || missing)) AS name
),
silent AS MATERIALIZED (
  SELECT n.id, n.id = ANY (job.minions) AS targeted, r.received_at, r.incarnation
  FROM job CROSS JOIN named n LEFT JOIN brine.returns r ON r.jid = $1 AND r.id = n.id
  WHERE n.id > $3 AND ($2::text[] IS NOT NULL OR r.id IS NULL OR r.received_at > job.deadline_at)
  ORDER BY n.id LIMIT $4 + 1
),
earlier AS MATERIALIZED (
  SELECT e.jid, e.minions, e.published_at FROM brine.jobs e, job
  WHERE e.published_at < job.published_at AND e.origin = 0
  ORDER BY e.published_at DESC LIMIT ${EARLIER_JOBS}
),
unanswered AS (
  SELECT m.id, e.published_at FROM earlier e CROSS JOIN unnest(e.minions) AS m(id)
  WHERE m.id IN (SELECT id FROM silent)
    AND NOT EXISTS (SELECT FROM brine.returns r WHERE r.jid = e.jid AND r.id = m.id)
),
logged_in AS (
  SELECT l.id, array_agg(${MS('t')}) AS at, max(t) FILTER (WHERE t < job.published_at) AS before
  FROM brine.log_ins l CROSS JOIN job CROSS JOIN unnest(l.at) AS t
  WHERE l.id IN (SELECT id FROM silent) GROUP BY l.id
)
SELECT s.id, s.targeted, ${MS('s.received_at')} AS returned, s.incarnation,
  (SELECT coalesce(json_object_agg(kind, json_build_object('firstMs', ${MS('first_at')},
      'lastMs', ${MS('last_at')}, 'count', count, 'reason', detail->>'reason')), '{}')
    FROM (
      SELECT DISTINCT ON (kind) * FROM brine.sightings g
      WHERE g.jid = $1 AND g.id IN (s.id, '') ORDER BY kind, id DESC
    ) AS own) AS sightings,
  coalesce(l.at, '{}') AS log_ins, ${MS('b.at')} AS before, ${MS('a.at')} AS after,
  (SELECT count(*)::integer FROM unanswered u
    WHERE u.id = s.id AND u.published_at > greatest(b.at, l.before, '-infinity')) AS unanswered
FROM silent s CROSS JOIN job LEFT JOIN logged_in l ON l.id = s.id
CROSS JOIN LATERAL (
  SELECT max(received_at) AS at FROM (
    SELECT received_at FROM brine.returns r WHERE r.id = s.id AND r.jid < $1
    ORDER BY r.jid DESC LIMIT ${LAST_RETURNS}
  ) AS last WHERE received_at < job.published_at
) AS b
CROSS JOIN LATERAL (
  SELECT max(received_at) AS at FROM (
    SELECT received_at FROM brine.returns r WHERE r.id = s.id AND r.jid <> $1
    ORDER BY r.jid DESC LIMIT ${LAST_RETURNS}
  ) AS last WHERE received_at > job.published_at
) AS a
ORDER BY s.id`;

interface SilentColumns {
  readonly id: string;
  readonly targeted: boolean;
  readonly returned: number | null;
  readonly incarnation: string | null;
  readonly sightings: Readonly<Record<string, SightingColumns>>;
  readonly log_ins: readonly number[];
  readonly before: number | null;
  readonly after: number | null;
  readonly unanswered: number;
}

type SightingColumns = Omit<Sighting, 'reason'> & { readonly reason: string | null };

/**
 * Evidence about minions of a job that never returned, returned late, or were named without being
 * known; or about `ids`, in any state. Undefined for an unknown jid.
 */
export async function silentMinions(
  pool: Pool,
  jid: string,
  options: { readonly ids?: readonly string[]; readonly after?: string; limit?: number } = {},
): Promise<SilentPage | undefined> {
  const [job] = await select<LoadColumns & { published: number; deadline: number | null }>(
    pool,
    JOB,
    [jid],
  );
  if (job === undefined) return undefined;
  const limit = Math.min(Math.max(options.limit ?? MAX_MINIONS, 1), MAX_MINIONS);
  const found = await select<SilentColumns>(pool, SILENT, [
    jid,
    options.ids ?? null,
    options.after ?? '',
    limit,
  ]);
  const minions = found.slice(0, limit).map(silentMinion);
  return {
    load: readLoad(job),
    publishedMs: job.published,
    deadlineMs: job.deadline ?? undefined,
    minions,
    next: found.length > limit ? minions.at(-1)?.id : undefined,
  };
}

function silentMinion(row: SilentColumns): SilentMinion {
  const sightings = Object.entries(row.sightings).map(([kind, seen]): [string, Sighting] => [
    kind,
    { ...seen, reason: seen.reason ?? undefined },
  ]);
  return {
    id: row.id,
    targeted: row.targeted,
    returnedMs: row.returned ?? undefined,
    incarnation: row.incarnation ?? undefined,
    sightings: new Map(sightings),
    logInsMs: row.log_ins,
    heardBeforeMs: row.before ?? undefined,
    heardAfterMs: row.after ?? undefined,
    unansweredBefore: row.unanswered,
  };
}
