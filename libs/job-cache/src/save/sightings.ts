import { isJid, isMinionId, jidTimeMs } from '@brine/job';
import type { Fields } from '@brine/wire';
import { intOf, isMap, listOf } from '@brine/wire';
import type { Pool } from 'pg';
import type { Unfit } from './batch.ts';
import { writeTexts } from './batch.ts';
import type { ReturnRow, SightingRow } from './rows.ts';

/** Salt asks with it whether a job still runs (salt/client/__init__.py `gather_job_info`). */
const FIND_JOB = 'saltutil.find_job';

/**
 * A jid without a job may still get one if its time is as near as this. Sightings of older jids,
 * which a hostile minion may invent, are dropped. Other masters' clocks are up to 14 h off UTC.
 */
const YOUNG_MS = 24 * 3600 * 1000;

/** Bytes of a detail as JSON. */
const MAX_DETAIL_BYTES = 1_000;

/** Rows of one statement: one sighting may name all minions of a job. */
const MAX_ROWS = 5_000;

const KEEP = `
INSERT INTO brine.sightings AS s (jid, id, kind, first_at, last_at, count, detail)
SELECT i.j, i.i, i.k, to_timestamp(min(i.t) / 1000.0), to_timestamp(max(i.t) / 1000.0),
  count(DISTINCT i.t), (array_agg(i.d ORDER BY i.t DESC, i.d DESC))[1]
FROM jsonb_to_recordset($1::jsonb) AS i(j text, i text, k text, t float8, d jsonb, y boolean)
WHERE i.y OR EXISTS (SELECT FROM brine.jobs WHERE jobs.jid = i.j)
GROUP BY i.j, i.i, i.k
ORDER BY i.j, i.i, i.k
ON CONFLICT (jid, id, kind) DO UPDATE SET
  first_at = least(s.first_at, excluded.first_at),
  last_at = greatest(s.last_at, excluded.last_at),
  count = s.count + CASE WHEN excluded.last_at > s.last_at THEN excluded.count ELSE 0 END,
  detail = CASE WHEN (excluded.last_at, excluded.detail) > (s.last_at, s.detail)
    THEN excluded.detail ELSE s.detail END
WHERE excluded.first_at < s.first_at
  OR (excluded.last_at, excluded.detail) > (s.last_at, s.detail)`;

/**
 * Only targeted minions prolong: others could keep any job open. The targets of a job are read only
 * if an answer would prolong it. A jid without a job is checked again with the orphans: its job may
 * be on its way in another statement.
 */
const PROLONG = `
WITH seen AS (
  SELECT i.j AS jid, i.i COLLATE "C" AS id, max(to_timestamp(i.t / 1000.0)) AS at
  FROM jsonb_to_recordset($1::jsonb) AS i(j text, i text, k text, t float8, y boolean)
  WHERE i.k = 'running' GROUP BY 1, 2
),
newest AS (SELECT jid, max(at) AS at FROM seen GROUP BY jid),
open AS (
  SELECT j.jid, j.minions, j.published_at AS published,
    coalesce(j.deadline_after, j.deadline_at - j.published_at) AS after
  FROM newest n JOIN brine.jobs j ON j.jid = n.jid
  WHERE j.deadline_at < brine.prolonged(
    n.at, j.published_at, coalesce(j.deadline_after, j.deadline_at - j.published_at))
  ORDER BY j.jid FOR NO KEY UPDATE OF j
),
until AS (
  SELECT o.jid, brine.prolonged(max(s.at), o.published, o.after) AS at
  FROM open o CROSS JOIN LATERAL (SELECT unnest(o.minions) COLLATE "C" AS id) AS t
  JOIN seen s ON s.jid = o.jid AND s.id = t.id
  GROUP BY o.jid, o.published, o.after
),
prolonged AS (
  UPDATE brine.jobs j SET deadline_at = greatest(j.deadline_at, until.at)
  FROM until WHERE j.jid = until.jid
),
early AS (
  INSERT INTO brine.orphans (jid)
  SELECT DISTINCT i.j FROM jsonb_to_recordset($1::jsonb) AS i(j text, k text, y boolean)
  WHERE i.y AND i.k = 'running' AND NOT EXISTS (SELECT FROM brine.jobs WHERE jobs.jid = i.j)
  ORDER BY i.j
  ON CONFLICT (jid) DO NOTHING
)
SELECT count(*)::integer AS prolonged FROM until`;

/** The sighting in an answer to find_job; undefined for other returns. */
export function sightingOfReturn(
  row: ReturnRow,
  load: Fields,
  fun: string,
): SightingRow | undefined {
  if (fun !== FIND_JOB) return undefined;
  const asked = listOf(load, 'fun_args')?.[0];
  const answer = load.get('return');
  // A text is the traceback of a failure and states nothing about the job.
  if (typeof asked !== 'string' || !isMap(answer)) return undefined;
  const pid = intOf(answer, 'pid');
  return {
    jid: asked,
    ids: [row.id],
    kind: answer.size > 0 ? 'running' : 'not_running',
    at: row.receivedAt,
    detail: { asked: row.jid, ...(pid === undefined ? {} : { pid }) },
  };
}

/**
 * Stores sightings, then lets those of running minions prolong their jobs. The second statement
 * begins after the first is committed. So if a sighting and a job arrive at the same time, one sees
 * the other, or the orphans join them. Resolves with the rows that PostgreSQL refuses, after the
 * rest is stored. Throws JobCacheError for outages; the same sightings can be given again.
 */
export async function saveSightings(
  pool: Pool,
  rows: readonly SightingRow[],
): Promise<readonly Unfit<SightingRow>[]> {
  return writeTexts(rows, {
    maxRows: MAX_ROWS,
    texts: sightingTexts,
    write: async (json, some) => {
      await pool.query({ name: 'keep-sightings', text: KEEP, values: [json] });
      if (!some.some(({ kind }) => kind === 'running')) return;
      await pool.query({ name: 'prolong-jobs', text: PROLONG, values: [json] });
    },
  });
}

/** Escapes of JSON that jsonb refuses: NUL, halves of surrogate pairs. */
const NO_JSONB = /\\u(?:0000|[dD][89a-fA-F])/;

/** A row for each minion; empty if no table takes the jid or a name. */
function sightingTexts({ jid, ids, kind, at, detail }: SightingRow): string[] {
  if (!isJid(jid)) return [];
  const isYoung = Math.abs(at - jidTimeMs(jid)) <= YOUNG_MS;
  const text = JSON.stringify(detail ?? {});
  const isFit = text.length <= MAX_DETAIL_BYTES && !NO_JSONB.test(text);
  const rest = `"k":"${kind}","t":${at},"y":${isYoung},"d":${isFit ? text : '{}'}`;
  return ids
    .filter((id) => id === '' || isMinionId(id))
    .map((id) => `{"j":${JSON.stringify(jid)},"i":${JSON.stringify(id)},${rest}}`);
}
